package harness

import (
	"io"
	"net"
	"sync"
	"time"
)

// Link is a TCP proxy on the loopback whose way to the target can stall: what clients send is kept, in order, and
// delivered when the link recovers, as a network does that loses a route for a while. Replies pass at all times.
type Link struct {
	listener net.Listener
	target   string

	mu      sync.Mutex
	open    chan struct{} // closed: bytes pass
	stalled bool
	conns   map[net.Conn]bool
	done    bool
}

// pace lies between two pieces that waited: a link that recovers delivers what it has in pieces, so that a request is
// read before the cancellation that was sent seconds later.
const pace = 200 * time.Millisecond

// NewLink listens and passes everything on.
func NewLink(target string) (*Link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Link{listener: listener, target: target, open: make(chan struct{}), conns: map[net.Conn]bool{}}
	close(l.open)
	go l.accept()
	return l, nil
}

// Address to connect to.
func (l *Link) Address() string { return l.listener.Addr().String() }

// Stall keeps what clients send from now on.
func (l *Link) Stall() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stalled {
		l.stalled, l.open = true, make(chan struct{})
	}
}

// Recover delivers what was kept, and everything that comes.
func (l *Link) Recover() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stalled {
		l.stalled = false
		close(l.open)
	}
}

// Close ends all connections.
func (l *Link) Close() {
	l.Recover()
	l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = true
	for c := range l.conns {
		c.Close()
	}
}

func (l *Link) keep(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		c.Close()
		return false
	}
	l.conns[c] = true
	return true
}

func (l *Link) gate() (<-chan struct{}, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open, l.stalled
}

func (l *Link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", l.target)
		if err != nil {
			client.Close()
			continue
		}
		if l.keep(client) && l.keep(server) {
			go l.deliver(client, server)
			go func() {
				_, _ = io.Copy(client, server) // ends with the connection
				client.Close()
			}()
		}
	}
}

// piece is what one read gave, and whether it had to wait.
type piece struct {
	bytes  []byte
	waited bool
}

// deliver reads without end, because what is sent has left the sender, and writes when the link is open.
func (l *Link) deliver(client, server net.Conn) {
	pieces := make(chan piece, 1<<16)
	go func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 64<<10)
			n, err := client.Read(buffer)
			if n > 0 {
				_, stalled := l.gate()
				pieces <- piece{buffer[:n], stalled}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		open, _ := l.gate()
		<-open
		if _, err := server.Write(p.bytes); err != nil {
			break
		}
		if p.waited {
			time.Sleep(pace)
		}
	}
	server.Close()
}
