package harness

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Front stands before several fgpu as a Service does: a request goes to one that is ready. Every tenth goes to any that
// is there, ready or not, as over a connection that was made before the endpoints changed.
type Front struct {
	URL    string
	server *http.Server
	stop   context.CancelFunc
	n      atomic.Int64

	mu       sync.Mutex
	backends []*frontBackend
}

type frontBackend struct {
	fgpu  *Fgpu
	proxy *httputil.ReverseProxy
	ready bool
}

// NewFront serves at once.
func NewFront(all ...*Fgpu) (*Front, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	f := &Front{URL: "http://" + listener.Addr().String(), stop: stop}
	for _, one := range all {
		target, err := url.Parse(one.VerbsURL)
		if err != nil {
			return nil, err
		}
		b := &frontBackend{fgpu: one, proxy: &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
				w.WriteHeader(http.StatusBadGateway) // the log has enough to say
			}}}
		f.backends = append(f.backends, b)
		go f.probe(ctx, b)
	}
	f.server = &http.Server{Handler: f}
	go f.server.Serve(listener)
	return f, nil
}

// Close ends all connections.
func (f *Front) Close() {
	f.stop()
	f.server.Close()
}

func (f *Front) probe(ctx context.Context, b *frontBackend) {
	for ctx.Err() == nil {
		attempt, done := context.WithTimeout(ctx, time.Second)
		_, err := Get(attempt, b.fgpu.HealthURL+"/readyz", "")
		done()
		f.mu.Lock()
		b.ready = err == nil
		f.mu.Unlock()
		time.Sleep(100 * time.Millisecond)
	}
}

func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var chosen *frontBackend
	n := f.n.Add(1)
	f.mu.Lock()
	for _, b := range f.backends {
		if b.ready {
			chosen = b
		}
	}
	if n%10 == 0 {
		chosen = f.backends[n/10%int64(len(f.backends))]
	}
	f.mu.Unlock()
	if chosen == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	chosen.proxy.ServeHTTP(w, r)
}
