package health

import (
	"context"

	"tri/lib/base/config"
	"tri/lib/base/sandbox"
)

// walls tests the sandbox if a program is to run in it.
func (x *checker) walls(ctx context.Context) {
	const name = "sandbox"
	if !x.runsPrograms() {
		return
	}
	if x.config.Sandbox == "off" {
		x.warn(name, "sandbox: required", "off: agent programs run with your rights")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	report, err := sandbox.Detect(ctx)
	switch {
	case err != nil:
		x.failed(name, "", err)
	case report.Landlock == 0:
		x.warn(name, "a kernel with Landlock (5.13, started with landlock among lsm=) adds the second wall",
			"one wall: %s", report)
	case report.Limits == sandbox.Rlimits:
		x.warn(name, "start the programs in a control group of yours, as `systemd-run --user --scope tri-dispatch` does",
			"%s: of each process, not of all together", report)
	default:
		x.ok(name, "%s", report)
	}
}

// runsPrograms reports whether the configuration has an agent that is a program.
func (x *checker) runsPrograms() bool {
	for _, a := range []config.Agent{x.config.Investigator, x.config.Validator, x.config.Box.Agent} {
		switch a.Agent {
		case "", "search", "none", "api":
		default:
			return true
		}
	}
	return false
}
