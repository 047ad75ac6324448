package nri

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"os"
	"testing"
)

// The record that fgpu writes with a Binding, made and signed here a second time from the words of src/spec/design.md,
// so that what the agent believes is judged by more than its own code.

type recorded struct {
	UUID      string `json:"uuid"`
	Index     int    `json:"index"`
	Milli     int    `json:"milli"`
	MemMib    int    `json:"memMib"`
	Exclusive bool   `json:"exclusive,omitempty"`
}

type recordedContainer struct {
	Name    string     `json:"name"`
	Init    bool       `json:"init"`
	Devices []recorded `json:"devices"`
}

type signer struct {
	private ed25519.PrivateKey
	id      string
}

// newSigner writes the public key into the file.
func newSigner(t *testing.T, path string) *signer {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(der)
	return &signer{private: private, id: hex.EncodeToString(sum[:])[:16]}
}

// signedBytes: numbers have eight bytes, texts and lists stand behind their length.
func signedBytes(uid, node string, containers []recordedContainer) []byte {
	var out []byte
	number := func(n int) { out = binary.BigEndian.AppendUint64(out, uint64(n)) }
	text := func(s string) { number(len(s)); out = append(out, s...) }
	flag := func(b bool) {
		if b {
			number(1)
		} else {
			number(0)
		}
	}
	for _, s := range []string{"fgpu.io/assignment signature v1", uid, node, "decision", "fixed-share"} {
		text(s)
	}
	number(len(containers))
	for _, c := range containers {
		text(c.Name)
		flag(c.Init)
		number(len(c.Devices))
		for _, d := range c.Devices {
			text(d.UUID)
			number(d.Index)
			number(d.Milli)
			number(d.MemMib)
			flag(d.Exclusive)
			text("") // no MIG profile
		}
	}
	return out
}

func (s *signer) record(t *testing.T, uid, node string, containers ...recordedContainer) string {
	sig := ed25519.Sign(s.private, signedBytes(uid, node, containers))
	text, err := json.Marshal(map[string]any{"v": 1, "id": "decision", "containers": containers,
		"sig": map[string]string{"key": s.id, "value": base64.StdEncoding.EncodeToString(sig)}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
