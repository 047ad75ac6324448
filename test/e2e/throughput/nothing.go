package main

import (
	"encoding/json"
	"net"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// serveNothing is an extender that decides nothing: filter keeps every node, prioritize has no opinion, bind posts
// the Binding. It is what an extender costs kube-scheduler at least if it answers with every name.
func serveNothing(client *kubernetes.Clientset) (string, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/filter", func(w http.ResponseWriter, r *http.Request) {
		var args struct{ NodeNames json.RawMessage }
		reply := map[string]any{"Error": ""}
		if err := json.NewDecoder(r.Body).Decode(&args); err != nil {
			reply["Error"] = err.Error()
		} else {
			reply["NodeNames"] = args.NodeNames
		}
		_ = json.NewEncoder(w).Encode(reply)
	})
	mux.HandleFunc("/v1/prioritize", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("[]"))
	})
	mux.HandleFunc("/v1/bind", func(w http.ResponseWriter, r *http.Request) {
		var args struct{ PodName, PodNamespace, PodUID, Node string }
		err := json.NewDecoder(r.Body).Decode(&args)
		if err == nil {
			err = client.CoreV1().Pods(args.PodNamespace).Bind(r.Context(), &corev1.Binding{
				ObjectMeta: metav1.ObjectMeta{Name: args.PodName, Namespace: args.PodNamespace, UID: types.UID(args.PodUID)},
				Target:     corev1.ObjectReference{Kind: "Node", Name: args.Node},
			}, metav1.CreateOptions{})
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"Error": text})
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() { _ = http.Serve(l, mux) }()
	return "http://" + l.Addr().String(), nil
}
