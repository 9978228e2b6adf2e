// Pulumi's Kubernetes provider, served from its Go module.
//
// Upstream embeds a schema and a Terraform mapping that its release build generates. A Python program needs
// neither: its SDK carries the types, and only the name and version are read at run time. The version is set by the
// build, from the SDK's in requirements.lock; go.mod names the commit that upstream tagged with it.
package main

import "github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"

var version string

func main() {
	schema := []byte(`{"name":"kubernetes","version":"` + version + `"}`)
	provider.Serve("kubernetes", version, schema, []byte(`{}`))
}
