package probe

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

var errHeld = errors.New("held")

// reads tries to find the secret in a file.
func reads(name string, path func(*Stage) string) Probe {
	return Probe{Name: name, Anybody: true, try: func(s *Stage) error { return s.find(path(s)) }}
}

// appears tries to read a secret that was added to the repository during the run.
func appears(name, file string) Probe {
	return Probe{Name: name, Anybody: true, try: func(s *Stage) error {
		if err := os.WriteFile(s.Home+"/ask", nil, 0o600); err != nil {
			return err
		}
		for end := time.Now().Add(patient); ; time.Sleep(5 * time.Millisecond) {
			if _, err := os.Stat(s.Home + "/done"); err == nil {
				return s.find(filepath.Join(s.Repo, file))
			} else if time.Now().After(end) {
				return fmt.Errorf("wait for it: %w", err)
			}
		}
	}}
}

// links tries to find the secret by a link that it makes itself.
func links(name string, link func(from, to string) error) Probe {
	return Probe{Name: name, Anybody: true, try: func(s *Stage) error {
		own := filepath.Join(s.Home, "link")
		_ = os.Remove(own) // from an earlier try
		if err := link(filepath.Join(s.Root, "outside/.env"), own); err != nil {
			return err
		}
		return s.find(own)
	}}
}

func (s *Stage) find(path string) error {
	text, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(text), s.Secret) {
		err = fmt.Errorf("%w: there is no secret in it", errHeld)
	}
	return err
}

// at returns a path below the stage.
func at(name string) func(*Stage) string {
	return func(s *Stage) string { return filepath.Join(s.Root, name) }
}

// opens tries to open a file of the machine, without changing it.
func opens(name string, flag int, path func(*Stage) string) Probe {
	return Probe{Name: name, try: func(s *Stage) error {
		f, err := os.OpenFile(path(s), flag, 0)
		if err != nil {
			return err
		}
		if flag == os.O_RDONLY {
			_, err = f.Read(make([]byte, 1))
		}
		return errors.Join(err, f.Close())
	}}
}

// opened closes what could be opened, which is the result.
func opened[C io.Closer](c C, err error) error {
	if err != nil {
		return err
	}
	return c.Close()
}

func fixed(path string) func(*Stage) string { return func(*Stage) string { return path } }

// changes tries to change a file of the stage; the change is checked from outside.
func changes(name string, write bool, do func(*Stage) error, path string) Probe {
	return Probe{Name: name, Anybody: true, Write: write, try: do, seen: func(s *Stage) bool {
		text, err := os.ReadFile(filepath.Join(s.Root, path))
		return err == nil && strings.Contains(string(text), "pwned")
	}}
}

func writeTo(name string) func(*Stage) error {
	return func(s *Stage) error { return appendTo(filepath.Join(s.Root, name)) }
}

func appendTo(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString("pwned\n")
	return errors.Join(err, f.Close())
}

func victimFile(name string) func(*Stage) string {
	return func(s *Stage) string { return fmt.Sprintf("/proc/%d/%s", s.Victim, name) }
}

// unseen are the probes of files that it may not read, by every path to them.
func unseen() []Probe {
	return []Probe{
		reads("read a private key", at("home/.ssh/id_ed25519")),
		reads("read a cloud credential", at("home/.aws/credentials")),
		reads("read our configuration", at("tri/config.yaml")),
		reads("read another run's transcript", at("tri/runs/other/transcript.ndjson")),
		reads("read a .env outside", at("outside/.env")),
		reads("read .agents", at("repo/.agents/runs/r/plan.md")),
		reads("read a .env of the repository", at("repo/.env")),
		reads("read a .env deeper in it", at("repo/deploy/eu/.env.production")),
		reads("read a key of the repository", at("repo/deploy/server.key")),
		reads("read a .env by another name", at("repo/deploy/settings")),
		{Name: "put a .env out of its place", Anybody: true, Write: true, try: func(s *Stage) error {
			moved := s.Repo + "/deploy/eu/moved"
			if err := os.Rename(s.Repo+"/deploy/eu/.env.production", moved); err != nil {
				return err
			}
			defer func() { _ = os.Rename(moved, s.Repo+"/deploy/eu/.env.production") }()
			return s.find(moved)
		}},
		reads("read by a link of the repository", at("repo/link")),
		reads("read by .. from its folder", func(s *Stage) string { return s.Repo + "/../outside/.env" }),
		reads("read a token in .git/config", at(gitConfigs[0])),
		reads("read one in .git/config.worktree", at(gitConfigs[1])),
		reads("read one of another worktree", at(gitConfigs[2])),
		reads("read one of a submodule", at(gitConfigs[3])),
		reads("read one of a repository in it", at(gitConfigs[4])),
		reads("read a .env of a package in it", at("repo/node_modules/x/.env")),
		reads("read settings of agents in it", at("repo/.claude/settings.json")),
		appears("read a secret that was written anew", late[0]),
		appears("read a secret that has just come", late[1]),
		{Name: "open a pipe of the repository", Anybody: true, try: func(s *Stage) error {
			f, err := os.OpenFile(s.Repo+"/pipe", os.O_RDWR, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			if info, err := f.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
				return errors.Join(errHeld, err)
			}
			return nil
		}},
		reads("read shared memory as a file", func(s *Stage) string { return s.Shm }),
		reads("read a process's environment", victimFile("environ")),
		reads("read by a process's root", func(s *Stage) string {
			return victimFile("root")(s) + s.Root + "/outside/.env"
		}),
		links("read by a link of its own", os.Symlink),
		links("read by a hard link of its own", os.Link),
		{Name: "read by a file handle", try: byHandle},
	}
}

// memories are the probes of readable memory that is not in a file.
func memories() []Probe {
	return []Probe{
		{Name: "attach shared memory", Anybody: true, try: func(s *Stage) error {
			memory, err := unix.SysvShmAttach(s.ShmID, 0, unix.SHM_RDONLY)
			if err != nil {
				return err
			}
			defer func() { _ = unix.SysvShmDetach(memory) }() // the process ends anyway
			if !strings.Contains(string(memory), s.Secret) {
				return errHeld
			}
			return nil
		}},
		opens("read password hashes", os.O_RDONLY, fixed("/etc/shadow")),
		opens("read the first process's environment", os.O_RDONLY, fixed("/proc/1/environ")),
		opens("read a process's memory", os.O_RDWR, victimFile("mem")),
		opens("read the machine's memory", os.O_RDONLY, fixed("/dev/mem")),
		opens("read the kernel's log", os.O_RDONLY, fixed("/dev/kmsg")),
		opens("read kernel memory", os.O_RDONLY, fixed("/proc/kcore")),
		{Name: "read a disk", try: readDisk},
	}
}

// writes are the probes of files that it may not change.
func writes() []Probe {
	return []Probe{
		changes("change a file it may only read", false, writeTo("repo/README.md"), "repo/README.md"),
		changes("make a file where it may only read", false, writeTo("repo/new"), "repo/new"),
		changes("write outside", false, writeTo("outside/new"), "outside/new"),
		changes("write outside, in a run that may write", true, writeTo("outside/new2"), "outside/new2"),
		changes("write by a link of the repository", true, writeTo("repo/out/linked"), "outside/linked"),
		changes("write into the caller's home", false, writeTo("home/.bashrc"), "home/.bashrc"),
		changes("change a Git hook", true, writeTo("repo/.git/hooks/post-checkout"),
			"repo/.git/hooks/post-checkout"),
		changes("change .git/config", true, writeTo("repo/.git/config"), "repo/.git/config"),
		changes("put another .git in its place", true, func(s *Stage) error {
			if err := os.Rename(s.Repo+"/.git", s.Repo+"/git-away"); err != nil {
				return err
			}
			defer func() {
				_ = errors.Join(os.RemoveAll(s.Repo+"/.git"), os.Rename(s.Repo+"/git-away", s.Repo+"/.git"))
			}()
			return errors.Join(os.MkdirAll(s.Repo+"/.git", 0o755), appendTo(s.Repo+"/.git/config"),
				appendTo(s.Repo+"/replaced"))
		}, "repo/replaced"),
		changes("change a hook of a repository in it", true, writeTo("repo/nested/.git/hooks/post-checkout"),
			"repo/nested/.git/hooks/post-checkout"),
		changes("turn a submodule to another .git", true, writeTo("repo/module/.git"), "repo/module/.git"),
		changes("put another repository in its place", true, func(s *Stage) error {
			if err := os.Rename(s.Repo+"/deep", s.Repo+"/deep-away"); err != nil {
				return err
			}
			return errors.Join(os.MkdirAll(s.Repo+"/deep/in/.git", 0o755),
				appendTo(s.Repo+"/deep/in/.git/config"))
		}, "repo/deep/in/.git/config"),
		{Name: "empty a file outside", Anybody: true, try: func(s *Stage) error {
			return os.Truncate(s.Root+"/outside/file", 0)
		}, seen: func(s *Stage) bool {
			info, err := os.Stat(s.Root + "/outside/file")
			return err == nil && info.Size() == 0
		}},
		{Name: "remove a file outside", Anybody: true, try: func(s *Stage) error {
			return os.Remove(s.Root + "/outside/file2")
		}, seen: func(s *Stage) bool {
			_, err := os.Stat(s.Root + "/outside/file2")
			return err != nil
		}},
		{Name: "leave a file in /tmp", Anybody: true, try: func(s *Stage) error {
			return appendTo(s.Tmp)
		}, seen: func(s *Stage) bool {
			_, err := os.Stat(s.Tmp)
			return err == nil
		}},
	}
}

// system are the probes of lasting changes to the system.
func system() []Probe {
	return []Probe{
		opens("change the system's users", os.O_WRONLY, fixed("/etc/passwd")),
		opens("change a program of the system", os.O_WRONLY, fixed("/usr/bin/env")),
		opens("change a setting of the kernel", os.O_WRONLY, fixed("/proc/sys/kernel/core_pattern")),
		opens("leave its control group", os.O_WRONLY, func(*Stage) string { return controlGroup() }),
		{Name: "leave a program with its user's rights", Anybody: true, try: setuidFile,
			seen: func(s *Stage) bool {
				info, err := os.Stat(s.Home + "/setuid")
				return err == nil && info.Mode()&os.ModeSetuid != 0
			}},
		{Name: "make a device", try: func(s *Stage) error {
			path := filepath.Join(s.Home, "device")
			_ = os.Remove(path) // from an earlier try
			return unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 1)))
		}},
		{Name: "write to its own prompt", Anybody: true, try: func(*Stage) error {
			return opened(os.OpenFile("/proc/self/fd/0", os.O_RDWR, 0))
		}},
	}
}

// controlGroup returns the control group file that moves a process.
func controlGroup() string {
	for _, path := range []string{"/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/cgroup.procs"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return "/sys/fs/cgroup/cgroup.procs"
}

// setuidFile creates a program that runs with its owner's rights.
func setuidFile(s *Stage) error {
	path := filepath.Join(s.Home, "setuid")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		return err
	}
	return os.Chmod(path, 0o755|os.ModeSetuid)
}

// byHandle opens the root of a file system by its fixed handle, a known way to escape from
// containers.
func byHandle(*Stage) error {
	dir, err := os.Open("/usr")
	if err != nil {
		return err
	}
	defer dir.Close()
	handle := unix.NewFileHandle(1, []byte{2, 0, 0, 0, 0, 0, 0, 0})
	fd, err := unix.OpenByHandleAt(int(dir.Fd()), handle, unix.O_RDONLY)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// readDisk reads from the first disk, through a device node of its own if none is shown.
func readDisk(s *Stage) error {
	var st unix.Stat_t
	if err := unix.Stat("/usr", &st); err != nil {
		return err
	}
	path := filepath.Join(s.Home, "disk")
	_ = os.Remove(path) // from an earlier try
	if err := unix.Mknod(path, unix.S_IFBLK|0o600, int(st.Dev)); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.ReadFull(f, make([]byte, 512))
	return errors.Join(err, f.Close())
}
