package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// withoutProxy is for the test that compares the verdicts of a policy pack with and without the proxy. If the variable
// is "none", the engine talks to the pack itself; the official host has no such mode.
func withoutProxy() bool { return os.Getenv("QUORATE_POLICY_PROXY") == "none" }

// pluginStream makes a stream safe for the two goroutines that send a pack's standard output and standard error.
type pluginStream struct {
	pulumirpc.LanguageRuntime_RunPluginServer
	mutex sync.Mutex
}

// Send sends one response to the engine.
func (stream *pluginStream) Send(response *pulumirpc.RunPluginResponse) error {
	stream.mutex.Lock()
	defer stream.mutex.Unlock()
	return stream.LanguageRuntime_RunPluginServer.Send(response)
}

// RunPlugin serves a policy pack for as long as the engine keeps the call open, and streams its output.
//
// As in the official host, the engine talks to the SDK's proxy. The proxy answers the engine's Handshake and
// ConfigureStack, the pack starts with the stack's configuration in its environment, and the proxy passes the other
// calls on to it.
func (host *languageHost) RunPlugin(
	request *pulumirpc.RunPluginRequest, server pulumirpc.LanguageRuntime_RunPluginServer,
) error {
	stream := &pluginStream{LanguageRuntime_RunPluginServer: server}
	if request.GetKind() != string(apitype.AnalyzerPlugin) {
		return status.Errorf(codes.Unimplemented,
			"this language host runs policy packs; it cannot run a plugin of kind %q", request.GetKind())
	}
	interpreter, err := python(request.GetInfo())
	if err != nil {
		return err
	}
	ctx, cancel := during(stream.Context(), host.running)
	defer cancel()
	place := request.GetInfo().GetProgramDirectory()
	words := append([]string{"-u", "-m", "pulumi.policy"}, request.GetArgs()...)
	command, err := interpreter.Command(ctx, append(words, place)...)
	if err != nil {
		return err
	}
	_, output, complaints, err := rpcutil.MakeRunPluginStreams(stream, false)
	if err != nil {
		return err
	}
	command.Dir, command.Stdout, command.Stderr = place, output, complaints
	command.WaitDelay = patience
	if withoutProxy() {
		command.Env = append(command.Env, request.GetEnv()...)
		return ended(command.Run(), stream)
	}
	proxy, output, err := sdk.NewPolicyProxy(ctx, output)
	if err != nil {
		return fmt.Errorf("the proxy of the policy pack could not be started: %w", err)
	}
	configuration, err := proxy.AwaitConfiguration(ctx)
	if err != nil {
		return fmt.Errorf("the engine did not send the stack's configuration: %w", err)
	}
	given, err := environment(configuration)
	if err != nil {
		return err
	}
	command.Stdout = output
	command.Env = append(append(command.Env, given...), request.GetEnv()...)
	if err := command.Start(); err != nil {
		return fmt.Errorf("the policy pack could not be started: %w", err)
	}
	err = proxy.Attach(ctx, command)
	// The call may have ended before the pack: this host must not end before it.
	if kill := command.Process.Kill(); kill != nil && !errors.Is(kill, os.ErrProcessDone) {
		return kill
	}
	return ended(err, stream)
}

// environment returns the variables in which a policy pack finds the stack and its configuration; none if the engine
// sent no configuration.
func environment(stack *pulumirpc.AnalyzerStackConfigureRequest) ([]string, error) {
	if stack == nil {
		return nil, nil
	}
	pairs := [][2]string{
		{"PULUMI_ORGANIZATION", stack.GetOrganization()},
		{"PULUMI_PROJECT", stack.GetProject()},
		{"PULUMI_STACK", stack.GetStack()},
		{"PULUMI_DRY_RUN", strconv.FormatBool(stack.GetDryRun())},
	}
	if stack.GetConfig() != nil {
		text, err := json.Marshal(stack.GetConfig())
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, [2]string{"PULUMI_CONFIG", string(text)})
	}
	var variables []string
	for _, pair := range pairs {
		if pair[1] != "" {
			variables = append(variables, pair[0]+"="+pair[1])
		}
	}
	return variables, nil
}

// ended reports how a policy pack ended: its exit code to the engine, or an error.
func ended(err error, stream pulumirpc.LanguageRuntime_RunPluginServer) error {
	var exit *exec.ExitError
	if err == nil || errors.Is(err, context.Canceled) {
		return nil
	}
	if !errors.As(err, &exit) {
		return fmt.Errorf("the policy pack failed: %w", err)
	}
	return stream.Send(&pulumirpc.RunPluginResponse{
		Output: &pulumirpc.RunPluginResponse_Exitcode{Exitcode: int32(exit.ExitCode())},
	})
}
