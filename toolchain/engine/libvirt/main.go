// Pulumi's libvirt provider: terraform-provider-libvirt behind Pulumi's bridge, as upstream serves it.
//
// Upstream embeds a schema that its release build generates. A Python program does not need it: its SDK carries the
// types, and only the name and version are read at run time. The version is set by the build, from the SDK's in
// requirements.lock.
package main

import (
	"github.com/dmacvicar/terraform-provider-libvirt/libvirt"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge/tokens"
	shim "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfshim/sdk-v2"
)

var version string

func main() {
	info := tfbridge.ProviderInfo{
		P:       shim.NewProvider(libvirt.Provider()),
		Name:    "libvirt",
		Version: version,
		// The SDK writes this name in another way than the rule below would.
		Resources: map[string]*tfbridge.ResourceInfo{
			"libvirt_cloudinit_disk": {Tok: "libvirt:index/cloudInitDisk:CloudInitDisk"},
		},
	}
	info.MustComputeTokens(tokens.SingleModule("libvirt_", "index", tokens.MakeStandard("libvirt")))
	schema := []byte(`{"name":"libvirt","version":"` + version + `"}`)
	tfbridge.Main("libvirt", version, info, schema)
}
