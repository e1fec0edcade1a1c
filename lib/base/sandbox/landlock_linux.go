package sandbox

import (
	"fmt"
	"os"
	"slices"

	"github.com/landlock-lsm/go-landlock/landlock"
	kernel "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// Access rights to paths.
const (
	onFile = landlock.AccessFSSet(kernel.AccessFSExecute | kernel.AccessFSWriteFile |
		kernel.AccessFSReadFile | kernel.AccessFSTruncate |
		kernel.AccessFSIoctlDev)
	listing = landlock.AccessFSSet(kernel.AccessFSReadDir)
	reading = landlock.AccessFSSet(kernel.AccessFSExecute|kernel.AccessFSReadFile) | listing
	// Creating devices is left out: no program needs it.
	writing = reading | landlock.AccessFSSet(kernel.AccessFSWriteFile|kernel.AccessFSTruncate|
		kernel.AccessFSRemoveDir|kernel.AccessFSRemoveFile|
		kernel.AccessFSRefer|kernel.AccessFSMakeDir|kernel.AccessFSMakeReg|kernel.AccessFSMakeSock|
		kernel.AccessFSMakeFifo|kernel.AccessFSMakeSym)
	device = reading | landlock.AccessFSSet(kernel.AccessFSWriteFile|kernel.AccessFSIoctlDev)
)

// landlockABI returns the kernel's Landlock ABI, 0 if it has none or does not use it.
func landlockABI() int {
	abi, err := kernel.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return abi
}

// enterLandlock restricts this process, and the program it becomes, to the paths and ports of an
// order. From ABI 9 on, only sockets that were created inside can be reached by path.
func enterLandlock(o order, ports []int) error {
	config := landlock.V9 // later versions are about UDP, which has no way out
	rules := []landlock.Rule{landlock.PathAccess(reading&onFile, o.Files...).IgnoreIfMissing()}
	if o.Serve {
		config.HandledAccessNet = 0
	}
	for _, port := range ports {
		if !o.Serve {
			rules = append(rules, landlock.ConnectTCP(uint16(port)))
		}
	}
	write := writing
	if o.Landlock < 2 { // moving files between folders is refused there anyway
		write &^= landlock.AccessFSSet(kernel.AccessFSRefer)
	}
	read := slices.Concat([]string{"/proc", "/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf"},
		o.Configs, o.Read)
	for _, of := range []struct {
		right landlock.AccessFSSet
		paths []string
	}{{reading, read}, {write, append([]string{"/tmp", "/dev/shm"}, o.Write...)}, {device, devices},
		{listing, o.List}} {
		var folders, files []string
		for _, path := range of.paths {
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				folders = append(folders, path)
			} else {
				files = append(files, path)
			}
		}
		rules = append(rules, landlock.PathAccess(of.right, folders...).IgnoreIfMissing(),
			landlock.PathAccess(of.right&onFile, files...).IgnoreIfMissing())
	}
	if err := config.BestEffort().Restrict(rules...); err != nil {
		return fmt.Errorf("enter landlock domain: %w", err)
	}
	return nil
}
