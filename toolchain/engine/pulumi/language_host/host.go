package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	"github.com/pulumi/pulumi/sdk/v3/go/common/version"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/pulumi/pulumi/sdk/v3/python/toolchain"
	"google.golang.org/protobuf/types/known/emptypb"
)

const (
	// alreadyExplained is the executor's exit code when the engine has shown the program's error itself.
	alreadyExplained = 32
	// patience is the time that an interrupted program has to end before it is killed.
	patience = 5 * time.Second
)

// languageHost implements the engine's calls. Calls that are not implemented return UNIMPLEMENTED.
type languageHost struct {
	pulumirpc.UnimplementedLanguageRuntimeServer

	// running ends with this process.
	running context.Context
	// programs ends with this process, or when the engine cancels the operation.
	programs  context.Context
	interrupt context.CancelFunc
	// executor is the path of the SDK's script that runs a program.
	executor string
	// engine is the address of the engine.
	engine string
}

func newLanguageHost(running context.Context, executor, engine string) *languageHost {
	programs, interrupt := context.WithCancel(running)
	return &languageHost{
		running: running, programs: programs, interrupt: interrupt, executor: executor, engine: engine,
	}
}

// during returns a context that ends when the first of two contexts ends.
func during(call, other context.Context) (context.Context, context.CancelFunc) {
	both, cancel := context.WithCancel(call)
	context.AfterFunc(other, cancel)
	return both, cancel
}

// python returns the toolchain that runs the interpreter of a project or policy pack: that of the virtual environment
// that its YAML file names, or that of PATH. Options that this host does not implement are refused.
func python(info *pulumirpc.ProgramInfo) (toolchain.Toolchain, error) {
	chosen := toolchain.PythonOptions{Root: info.GetRootDirectory(), ProgramDir: info.GetProgramDirectory()}
	for name, value := range info.GetOptions().AsMap() {
		place, isText := value.(string)
		if name != "virtualenv" || !isText {
			return nil, fmt.Errorf("this language host knows the runtime option virtualenv, a path; remove %s", name)
		}
		chosen.Virtualenv = place
	}
	return toolchain.ResolveToolchain(chosen)
}

// Handshake is called by an engine that did not start this process, and stores its address.
func (host *languageHost) Handshake(
	_ context.Context, request *pulumirpc.LanguageHandshakeRequest,
) (*pulumirpc.LanguageHandshakeResponse, error) {
	host.engine = request.GetEngineAddress()
	return &pulumirpc.LanguageHandshakeResponse{}, nil
}

// GetPluginInfo returns the version of the engine that this host was built with.
func (*languageHost) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: version.Version}, nil
}

// GetRequiredPackages returns no packages: the engine looks up each provider when a resource first requires it.
//
// The official host returns every installed SDK. The engine would then require all their providers in advance, for
// example libvirt's for a stack that only renders, and a built engine cannot download them.
func (*languageHost) GetRequiredPackages(
	context.Context, *pulumirpc.GetRequiredPackagesRequest,
) (*pulumirpc.GetRequiredPackagesResponse, error) {
	return &pulumirpc.GetRequiredPackagesResponse{}, nil
}

// Run runs a stack's program until it exits. The program writes to this process's streams, which the engine reads.
func (host *languageHost) Run(call context.Context, request *pulumirpc.RunRequest) (*pulumirpc.RunResponse, error) {
	interpreter, err := python(request.GetInfo())
	if err != nil {
		return nil, err
	}
	if err := interpreter.ValidateVenv(call); err != nil {
		return nil, err
	}
	settings := map[string]string{} // not nil, which would be written as null
	maps.Copy(settings, request.GetConfig())
	config, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	secrets, err := json.Marshal(append([]string{}, request.GetConfigSecretKeys()...))
	if err != nil {
		return nil, err
	}
	ctx, cancel := during(call, host.programs)
	defer cancel()
	command, err := interpreter.Command(ctx, append([]string{host.executor}, host.arguments(request)...)...)
	if err != nil {
		return nil, err
	}
	if command.Env == nil {
		command.Env = os.Environ()
	}
	command.Env = append(command.Env,
		"PULUMI_CONFIG="+string(config), "PULUMI_CONFIG_SECRET_KEYS="+string(secrets))
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = patience
	return runResponse(command.Run()), nil
}

// arguments returns the executor's command line for a program.
func (host *languageHost) arguments(request *pulumirpc.RunRequest) []string {
	var words []string
	for _, option := range [][2]string{
		{"monitor", request.GetMonitorAddress()},
		{"engine", host.engine},
		{"project", request.GetProject()},
		{"root_directory", request.GetInfo().GetRootDirectory()},
		{"stack", request.GetStack()},
		{"pwd", request.GetPwd()},
		{"dry_run", strconv.FormatBool(request.GetDryRun())},
		{"parallel", strconv.Itoa(int(request.GetParallel()))},
		{"organization", request.GetOrganization()},
	} {
		if option[1] != "" {
			words = append(words, "--"+option[0], option[1])
		}
	}
	return append(append(words, request.GetInfo().GetEntryPoint()), request.GetArgs()...)
}

// runResponse returns the response for a program that ended: success, a failure already reported, or a failure.
func runResponse(err error) *pulumirpc.RunResponse {
	var exit *exec.ExitError
	if err == nil {
		return &pulumirpc.RunResponse{}
	}
	if !errors.As(err, &exit) {
		return &pulumirpc.RunResponse{Error: fmt.Sprintf("the program could not be run: %v", err)}
	}
	if exit.ExitCode() == alreadyExplained {
		return &pulumirpc.RunResponse{Bail: true}
	}
	if status, isStatus := exit.Sys().(syscall.WaitStatus); isStatus && status.Signaled() {
		return &pulumirpc.RunResponse{Error: fmt.Sprintf("the program was ended by signal %d", status.Signal())}
	}
	return &pulumirpc.RunResponse{Error: fmt.Sprintf("the program exited with code %d", exit.ExitCode())}
}

// Cancel interrupts the running programs. The engine calls it when the user interrupts an operation.
func (host *languageHost) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	host.interrupt()
	return &emptypb.Empty{}, nil
}

// About returns the interpreter and its version, for `pulumi about`.
func (*languageHost) About(call context.Context, request *pulumirpc.AboutRequest) (*pulumirpc.AboutResponse, error) {
	interpreter, err := python(request.GetInfo())
	if err != nil {
		return nil, err
	}
	found, err := interpreter.About(call)
	if err != nil {
		return nil, err
	}
	return &pulumirpc.AboutResponse{Executable: found.PythonExecutable, Version: found.PythonVersion.String()}, nil
}

// GetProgramDependencies returns the installed distributions, for `pulumi about`.
func (*languageHost) GetProgramDependencies(
	call context.Context, request *pulumirpc.GetProgramDependenciesRequest,
) (*pulumirpc.GetProgramDependenciesResponse, error) {
	interpreter, err := python(request.GetInfo())
	if err != nil {
		return nil, err
	}
	found, err := interpreter.ListPackages(call, request.GetTransitiveDependencies())
	if err != nil {
		return nil, err
	}
	response := &pulumirpc.GetProgramDependenciesResponse{}
	for _, each := range found {
		response.Dependencies = append(response.Dependencies,
			&pulumirpc.DependencyInfo{Name: each.Name, Version: each.Version})
	}
	return response, nil
}

// InstallDependencies installs nothing. It prints for the user of `pulumi install` that `make setup` installs the
// environment, whose packages the lock file pins by hash.
func (*languageHost) InstallDependencies(
	request *pulumirpc.InstallDependenciesRequest, stream pulumirpc.LanguageRuntime_InstallDependenciesServer,
) error {
	closer, output, _, err := rpcutil.MakeInstallDependenciesStreams(stream, request.GetIsTerminal())
	if err != nil {
		return err
	}
	fmt.Fprintln(output, "Run `make setup`: it installs the Python environment.")
	return closer.Close()
}
