package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// strict refuses unknown and duplicate fields: a misspelt key in a manifest is a failure here.
var strict = serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

// Objects decodes every document of a manifest file.
func Objects(file string) ([]runtime.Object, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var objects []runtime.Object
	documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
	defer documents.Close()
	buffer := make([]byte, len(text)+1)
	for {
		n, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(bytes.TrimSpace(buffer[:n])) == 0 || onlyComments(buffer[:n]) {
			continue
		}
		o, _, err := strict.Decode(bytes.Clone(buffer[:n]), nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, o)
	}
}

func onlyComments(doc []byte) bool {
	for line := range strings.Lines(string(doc)) {
		if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(t, "#") && t != "---" {
			return false
		}
	}
	return true
}

// Apply creates the objects of manifest files, in order. What exists already stays as it is.
func (cp *ControlPlane) Apply(ctx context.Context, files ...string) error {
	for _, file := range files {
		objects, err := Objects(file)
		if err != nil {
			return err
		}
		for _, o := range objects {
			if err := cp.create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("%s: %T: %w", filepath.Base(file), o, err)
			}
		}
	}
	return nil
}

func (cp *ControlPlane) create(ctx context.Context, object runtime.Object) (err error) {
	opts := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
	switch o := object.(type) {
	case *corev1.Namespace:
		_, err = cp.Client.CoreV1().Namespaces().Create(ctx, o, opts)
	case *corev1.ServiceAccount:
		_, err = cp.Client.CoreV1().ServiceAccounts(o.Namespace).Create(ctx, o, opts)
	case *corev1.ConfigMap:
		_, err = cp.Client.CoreV1().ConfigMaps(o.Namespace).Create(ctx, o, opts)
	case *corev1.Secret:
		_, err = cp.Client.CoreV1().Secrets(o.Namespace).Create(ctx, o, opts)
	case *rbacv1.ClusterRole:
		_, err = cp.Client.RbacV1().ClusterRoles().Create(ctx, o, opts)
	case *rbacv1.ClusterRoleBinding:
		_, err = cp.Client.RbacV1().ClusterRoleBindings().Create(ctx, o, opts)
	case *rbacv1.Role:
		_, err = cp.Client.RbacV1().Roles(o.Namespace).Create(ctx, o, opts)
	case *rbacv1.RoleBinding:
		_, err = cp.Client.RbacV1().RoleBindings(o.Namespace).Create(ctx, o, opts)
	case *storagev1.CSIStorageCapacity:
		_, err = cp.Client.StorageV1().CSIStorageCapacities(o.Namespace).Create(ctx, o, opts)
	case *appsv1.Deployment:
		_, err = cp.Client.AppsV1().Deployments(o.Namespace).Create(ctx, o, opts)
	case *admissionv1.ValidatingAdmissionPolicy:
		_, err = cp.Client.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(ctx, o, opts)
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		_, err = cp.Client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(ctx, o, opts)
	case *admissionv1.MutatingAdmissionPolicy:
		_, err = cp.Client.AdmissionregistrationV1().MutatingAdmissionPolicies().Create(ctx, o, opts)
	case *admissionv1.MutatingAdmissionPolicyBinding:
		_, err = cp.Client.AdmissionregistrationV1().MutatingAdmissionPolicyBindings().Create(ctx, o, opts)
	case *flowcontrolv1.FlowSchema:
		_, err = cp.Client.FlowcontrolV1().FlowSchemas().Create(ctx, o, opts)
	default:
		err = fmt.Errorf("nobody told the harness how to create this kind")
	}
	return err
}

// Replacement is a change that a test makes to a shipped file, because its ports and paths are its own.
type Replacement struct{ Old, New string }

// Adapt copies a shipped file with replacements, each of which must match exactly once.
func Adapt(from, to string, replacements ...Replacement) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	text := string(b)
	for _, r := range replacements {
		if n := strings.Count(text, r.Old); n != 1 {
			return fmt.Errorf("%s: %q stands there %d times, expected once", from, r.Old, n)
		}
		text = strings.Replace(text, r.Old, r.New, 1)
	}
	return os.WriteFile(to, []byte(text), 0o600)
}
