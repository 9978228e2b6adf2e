// Pulumi's language host for Python, which the engine starts to run a Python program or a policy pack.
//
// The official host is not published as a Go module. This program is built on the parts of it that are: the protocol,
// the choice of the Python interpreter (package toolchain) and the proxy in front of a policy pack. It does what the
// official host does for programs and policy packs, and no more: no debugger, no type checker, no generated code.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
)

func main() {
	flag.String("tracing", "", "accepted and ignored: this language host writes no traces")
	flag.Parse() // with the logging options of the SDK, which the engine passes on
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "The engine starts this program, with its own address as the last argument.")
		os.Exit(2)
	}
	if err := serve(flag.Arg(flag.NArg() - 1)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve answers the engine's calls until SIGINT, SIGTERM or the end of the engine. Before it returns, the running calls
// have ended their child processes.
func serve(engine string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the directory of this language host cannot be determined: %w", err)
	}
	executor := filepath.Join(filepath.Dir(self), "pulumi-language-python-exec")
	running, end := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	go func() {
		// The engine keeps this pipe open while it runs, so its end means that the engine has ended, even if it was killed.
		_, _ = io.Copy(io.Discard, os.Stdin)
		end()
	}()
	stop := make(chan bool)
	context.AfterFunc(running, func() { close(stop) })
	served, err := rpcutil.ServeWithOptions(rpcutil.ServeOptions{
		Cancel: stop,
		Init: func(server *grpc.Server) error {
			pulumirpc.RegisterLanguageRuntimeServer(server, newLanguageHost(running, executor, engine))
			return nil
		},
	})
	if err != nil {
		return err
	}
	fmt.Println(served.Port) // the engine reads the port from the first line
	return <-served.Done
}
