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

// An image of one file, as an archive in the layout of OCI: no registry and no tool is needed.

const (
	pauseImage = "fgpu.test/pause:1"
	boxImage   = "fgpu.test/box:1"  // has no variable
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

// writeImage writes the archive of an image whose entrypoint is the box.
func writeImage(path, name string, box []byte, env []string, command ...string) error {
	root := newArchive()
	for _, folder := range []string{"dev", "proc", "sys", "etc", "tmp"} {
		root.folder(folder)
	}
	root.file("box", 0o755, box)
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
	text := func(d document) []byte {
		b, err := json.Marshal(d)
		if err != nil {
			panic(err) // text and numbers
		}
		return b
	}
	layerBlob := blob("layer.v1.tar", layer)
	config := blob("config.v1+json", text(document{"architecture": runtime.GOARCH, "os": "linux",
		"config": document{"Env": env, "Entrypoint": []string{"/box"}, "Cmd": command, "WorkingDir": "/"},
		"rootfs": document{"type": "layers", "diff_ids": []string{digest(layer)}}}))
	manifest := blob("manifest.v1+json", text(document{"schemaVersion": 2, "mediaType": kind + "manifest.v1+json",
		"config": config, "layers": []document{layerBlob}}))
	manifest["platform"] = document{"architecture": runtime.GOARCH, "os": "linux"}
	manifest["annotations"] = map[string]string{"io.containerd.image.name": name}
	image.file("index.json", 0o644, text(document{"schemaVersion": 2, "mediaType": kind + "index.v1+json", "manifests": []document{manifest}}))
	image.file("oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`))
	content, err := image.bytes()
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}
