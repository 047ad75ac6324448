package nri

import (
	"github.com/containerd/nri/pkg/api"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Fields that a version of NRI may not have are reached by their names.
func has(m proto.Message, field protoreflect.Name) bool {
	return m.ProtoReflect().Descriptor().Fields().ByName(field) != nil
}

const cdiDevices = "CDI_devices"

func giveCDI(c *api.Container, name string) {
	m := c.ProtoReflect()
	if field := m.Descriptor().Fields().ByName(cdiDevices); field != nil {
		list := m.Mutable(field).List()
		device := list.NewElement()
		device.Message().Set(device.Message().Descriptor().Fields().ByName("name"), protoreflect.ValueOfString(name))
		list.Append(device)
	}
}

func cdiOf(a *api.ContainerAdjustment) []string {
	var names []string
	if a == nil || !has(a, cdiDevices) {
		return names
	}
	m := a.ProtoReflect()
	list := m.Get(m.Descriptor().Fields().ByName(cdiDevices)).List()
	for i := range list.Len() {
		device := list.Get(i).Message()
		names = append(names, device.Get(device.Descriptor().Fields().ByName("name")).String())
	}
	return names
}
