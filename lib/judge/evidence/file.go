package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"tri/lib/base/text"
)

// MaxFile is the maximum size, in bytes, of a file that can be evidence.
const MaxFile = 4 << 20

// errMissing is the one error that another version of the codebase may resolve.
// unfit is the error of a file that cannot be evidence, whatever is in it.
type unfit string

func (e unfit) Error() string { return string(e) }

var errMissing = errors.New("there is no such file")

// read returns the content of a regular text file below root. A FIFO, a device, a folder, a link that
// leads out or into .git, a huge or a binary file is refused with a specific error. read never blocks.
func read(root *os.Root, name string) ([]byte, error) {
	name, err := follow(root, name)
	if err != nil {
		return nil, err
	}
	// Checked before opening, since opening some devices has effects.
	if info, err := root.Stat(name); err != nil {
		return nil, missing(err)
	} else if err := checkInfo(info); err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, missing(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if err := checkInfo(info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	return data, checkText(data)
}

// unknown reports whether err means that a file could not be examined, for instance because the disk
// failed or access is denied. A file that is missing, or is not a file, is not unknown.
func unknown(err error) bool {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return false
	}
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.EINVAL,
		syscall.ENXIO, syscall.EXDEV:
		return false
	}
	return true
}

func checkInfo(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return unfit("it is not a regular file")
	}
	if info.Size() > MaxFile {
		return unfit(fmt.Sprintf("it has %d bytes, at most %d are read", info.Size(), MaxFile))
	}
	return nil
}

func checkText(data []byte) error {
	if len(data) > MaxFile {
		return unfit(fmt.Sprintf("it has more than %d bytes", MaxFile))
	}
	if bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 { // the test that git uses
		return unfit("it is a binary file")
	}
	return nil
}

// missing distinguishes a file that does not exist from one that cannot be read.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, syscall.ENAMETOOLONG) {
		return errMissing
	}
	if errors.Is(err, fs.ErrPermission) {
		return errors.New("it may not be read")
	}
	pe := new(fs.PathError)
	if errors.As(err, &pe) {
		return fmt.Errorf("it cannot be read: %w", pe.Err) // without the path, which is outside text
	}
	return fmt.Errorf("it cannot be read: %w", err)
}

// follow resolves the symbolic links of name below root, and checks each target like a cited path: os.Root
// confines links to the root, but .git is inside it.
func follow(root *os.Root, name string) (string, error) {
	todo := strings.Split(name, "/")
	done := ""
	for links := 0; len(todo) > 0; {
		next := path.Join(done, todo[0])
		todo = todo[1:]
		info, err := root.Lstat(next)
		if err != nil {
			return "", missing(err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > 20 {
			return "", errors.New("too many symbolic links")
		}
		target, err := root.Readlink(next)
		if err != nil {
			return "", missing(err)
		}
		// A link may go up as long as it stays inside, so .. is resolved first.
		inside := path.Join(path.Dir(next), target)
		if _, err := checkPath(inside); err != nil || path.IsAbs(target) {
			return "", errors.New("it is a link that leads out of the codebase or into .git")
		}
		todo = append(strings.Split(inside, "/"), todo...)
		done = ""
	}
	return done, nil
}

// split returns the lines of a text without their endings.
func split(data []byte) []string {
	text := strings.TrimSuffix(string(data), "\n")
	if text == "" && len(data) == 0 {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	return lines
}

// sumLines returns the value of Receipt.Lines for lines.
func sumLines(lines []string) string { return text.SHA256(strings.Join(lines, "\n")) }
