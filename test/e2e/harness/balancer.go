package harness

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
)

// Balancer stands before several API servers as a load balancer does: plain HTTP on the loopback, TLS behind. Each
// request goes to one of them: to the first, but for the Bindings of one pod.
type Balancer struct {
	URL      string
	server   *http.Server
	backends []*httputil.ReverseProxy
	second   atomic.Value // the end of the paths that go to the second
}

// NewBalancer serves at once.
func NewBalancer(urls ...string) (*Balancer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &Balancer{URL: "http://" + listener.Addr().String()}
	for _, text := range urls {
		target, err := url.Parse(text)
		if err != nil {
			return nil, err
		}
		b.backends = append(b.backends, &httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
			FlushInterval: -1, // watches
			Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 64},
		})
	}
	b.server = &http.Server{Handler: http.HandlerFunc(b.serve)}
	go b.server.Serve(listener)
	return b, nil
}

// BindViaSecond sends the Bindings of this pod to the second API server from now on.
func (b *Balancer) BindViaSecond(pod string) { b.second.Store("/pods/" + pod + "/binding") }

// Close ends all connections.
func (b *Balancer) Close() { b.server.Close() }

func (b *Balancer) serve(w http.ResponseWriter, r *http.Request) {
	backend := 0
	if path, ok := b.second.Load().(string); ok && strings.HasSuffix(r.URL.Path, path) {
		backend = 1
	}
	b.backends[backend].ServeHTTP(w, r)
}
