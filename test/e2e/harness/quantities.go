package harness

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Quantities are "resource=quantity" as an object has them. A quantity that is none panics.
func Quantities(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for _, pair := range pairs {
		name, quantity, _ := strings.Cut(pair, "=")
		l[corev1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return l
}
