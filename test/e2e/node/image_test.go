package node

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"runtime"
)

// Images, each an archive in the layout of OCI: no registry and no tool is needed.

const (
	pauseImage = "fgpu.test/pause:1"
	boxImage   = "fgpu.test/box:1"  // has no variable
	mpsImage   = "fgpu.test/mps:1"  // chooses limits of its own
	cudaImage  = "fgpu.test/cuda:1" // NVIDIA_VISIBLE_DEVICES=all, as CUDA images have it
)

type document = map[string]any

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

type archive struct {
	buffer bytes.Buffer
	tar    *tar.Writer
	err    error
}

func newArchive() *archive {
	a := &archive{}
	a.tar = tar.NewWriter(&a.buffer)
	return a
}

func (a *archive) file(name string, mode int64, content []byte) {
	if a.err == nil {
		a.err = a.tar.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content))})
	}
	if a.err == nil {
		_, a.err = a.tar.Write(content)
	}
}

func (a *archive) folder(name string) {
	if a.err == nil {
		a.err = a.tar.WriteHeader(&tar.Header{Name: name + "/", Mode: 0o755, Typeflag: tar.TypeDir})
	}
}

func (a *archive) bytes() ([]byte, error) {
	if a.err == nil {
		a.err = a.tar.Close()
	}
	return a.buffer.Bytes(), a.err
}

// imageOf is what an image has: programs by their paths in it, and how it is started.
type imageOf struct {
	programs   map[string][]byte
	env        []string
	entrypoint string
	command    []string
}

// boxOf is an image whose entrypoint is the box.
func boxOf(box []byte, env []string, command ...string) imageOf {
	return imageOf{programs: map[string][]byte{"box": box}, env: env, entrypoint: "/box", command: command}
}

// writeImage writes the archive of an image.
func writeImage(path, name string, content imageOf) error {
	root := newArchive()
	for _, folder := range []string{"dev", "proc", "sys", "etc", "tmp"} {
		root.folder(folder)
	}
	for name, program := range content.programs {
		root.file(name, 0o755, program)
	}
	layer, err := root.bytes()
	if err != nil {
		return err
	}
	const kind = "application/vnd.oci.image."
	image := newArchive()
	blob := func(media string, content []byte) document {
		sum := digest(content)
		image.file("blobs/sha256/"+sum[len("sha256:"):], 0o644, content)
		return document{"mediaType": kind + media, "digest": sum, "size": len(content)}
	}
	encode := func(d document) []byte {
		b, err := json.Marshal(d)
		if err != nil {
			panic(err) // text and numbers
		}
		return b
	}
	layerBlob := blob("layer.v1.tar", layer)
	config := blob("config.v1+json", encode(document{"architecture": runtime.GOARCH, "os": "linux",
		"config": document{"Env": content.env, "Entrypoint": []string{content.entrypoint}, "Cmd": content.command, "WorkingDir": "/"},
		"rootfs": document{"type": "layers", "diff_ids": []string{digest(layer)}}}))
	manifest := blob("manifest.v1+json", encode(document{"schemaVersion": 2, "mediaType": kind + "manifest.v1+json",
		"config": config, "layers": []document{layerBlob}}))
	manifest["platform"] = document{"architecture": runtime.GOARCH, "os": "linux"}
	manifest["annotations"] = map[string]string{"io.containerd.image.name": name}
	image.file("index.json", 0o644, encode(document{"schemaVersion": 2, "mediaType": kind + "index.v1+json", "manifests": []document{manifest}}))
	image.file("oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`))
	text, err := image.bytes()
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
