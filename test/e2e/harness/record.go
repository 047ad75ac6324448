package harness

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
)

// RecordDevice is one device of a record with one container.
type RecordDevice struct {
	UUID   string `json:"uuid"`
	Index  int64  `json:"index"`
	Milli  int64  `json:"milli"`
	MemMiB int64  `json:"memMib"`
	MIG    string `json:"mig,omitempty"` // the profile of an instance
}

// SignedRecord is what another fgpu with the same key would write for container "main" of a pod. The signed bytes are made
// as include/core/record/assignment.h says, without fgpu: numbers are 8 bytes, the highest first; a text is its length and its bytes.
func (cp *ControlPlane) SignedRecord(uid, node, id string, devices ...RecordDevice) (string, error) {
	dir, err := cp.signingKeys()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(dir, "key.pem"))
	if err != nil {
		return "", err
	}
	block, _ := pem.Decode(text)
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return "", err
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return "", fmt.Errorf("key.pem holds a %T", parsed)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(public)

	var signed bytes.Buffer
	number := func(n int64) { _ = binary.Write(&signed, binary.BigEndian, n) }
	word := func(s string) { number(int64(len(s))); signed.WriteString(s) }
	for _, s := range []string{"fgpu.io/assignment signature v1", uid, node, id, "fixed-share"} {
		word(s)
	}
	number(1)
	word("main")
	number(0)
	number(int64(len(devices)))
	for _, d := range devices {
		word(d.UUID)
		number(d.Index)
		number(d.Milli)
		number(d.MemMiB)
		number(0) // not exclusive
		word(d.MIG)
	}
	record, err := json.Marshal(map[string]any{"v": 1, "id": id,
		"containers": []any{map[string]any{"name": "main", "init": false, "devices": devices}},
		"sig":        map[string]any{"key": hex.EncodeToString(digest[:])[:16], "value": base64.StdEncoding.EncodeToString(ed25519.Sign(key, signed.Bytes()))}})
	return string(record), err
}
