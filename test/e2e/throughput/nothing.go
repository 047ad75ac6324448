package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"fgpu.io/fgpu/test/e2e/harness"
)

// The extender that does nothing is this program, started with these arguments: nothingArgument and the file of nothingSetup.
const nothingArgument = "serve-nothing"

type nothingSetup struct{ Address, API, Token, CAFile string }

// nothing prepares a process of its own, so that its CPU time is its own.
func (b *bench) nothing() (*harness.Process, string, error) {
	port, err := harness.FreePort()
	if err != nil {
		return nil, "", err
	}
	c := b.plane.Config
	setup := nothingSetup{fmt.Sprintf("127.0.0.1:%d", port), c.Host, c.BearerToken, c.CAFile}
	text, err := json.Marshal(setup)
	if err != nil {
		return nil, "", err
	}
	file := filepath.Join(b.plane.Dir, "nothing.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, "", err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	url := "http://" + setup.Address
	return &harness.Process{Name: "do-nothing extender", Path: program, Args: []string{nothingArgument, file},
		LogFile: filepath.Join(b.plane.Dir, "nothing.log"),
		Ready:   func(ctx context.Context) error { _, err := harness.Get(ctx, url+"/readyz", ""); return err }}, url, nil
}

// minimal is the program of test/bench/minimal.c, built with the own tree.
func (b *bench) minimal(ctx context.Context) (*harness.Process, string, error) {
	port, err := harness.FreePort()
	if err != nil {
		return nil, "", err
	}
	kubeconfig, err := b.plane.Kubeconfig(ctx, "fgpu-system", "fgpu")
	if err != nil {
		return nil, "", err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	return &harness.Process{Name: "minimal extender", Path: filepath.Join(b.own.root, "build", "release", "test", "bench", "bench_minimal"),
			Args: []string{address, kubeconfig}, LogFile: filepath.Join(b.plane.Dir, "minimal.log"),
			Ready: func(ctx context.Context) error {
				_, err := harness.Get(ctx, "http://"+address+"/readyz", "")
				return err
			}},
		"http://" + address, nil
}

// serveNothing is an extender that decides nothing: filter keeps every node, prioritize has no opinion, bind posts
// the Binding. It is what an extender costs kube-scheduler at least if it answers with every name.
func serveNothing(file string) error {
	var setup nothingSetup
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &setup)
	}
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(&rest.Config{Host: setup.API, BearerToken: setup.Token, QPS: 5000, Burst: 5000,
		TLSClientConfig: rest.TLSClientConfig{CAFile: setup.CAFile}})
	if err != nil {
		return err
	}
	return http.ListenAndServe(setup.Address, nothingHandler(client))
}

func nothingHandler(client *kubernetes.Clientset) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
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
	return mux
}
