package durable

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strconv"

	"tri/lib/base/sysexit"
)

// The sums of a log NAME are in the file .NAME.sum beside it: entries of 32 bytes, "END CRC OWN\n"
// in hexadecimal. CRC is the CRC-32C of the log from the END of the entry before to END, and OWN
// that of the entry's first 22 bytes. An entry is written after the bytes that it covers are
// durable, and is not synced itself: after a kill or a power cut the last lines of a log may have
// no sum, and the next append adds one. A log without sums was written by an earlier version.

const (
	sumSize  = 32
	sumChunk = 1 << 20 // most bytes of a log that one entry covers
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrChanged reports that the bytes of a file are not those that were written.
var ErrChanged = errors.New("not what was written")

func sumName(log string) string {
	dir, base := path.Split(log)
	return dir + "." + base + ".sum"
}

// sums reads the sums of a log. The zero value has no entries.
type sums struct {
	f   *os.File
	n   int64
	buf []byte // for reading the log
}

func openSums(root *os.Root, log string, flag int) (s sums, err error) {
	s.f, err = root.OpenFile(sumName(log), flag, 0o600)
	if err != nil {
		return sums{}, err
	}
	info, err := s.f.Stat()
	if err != nil {
		return sums{}, errors.Join(err, s.f.Close())
	}
	s.n = info.Size() / sumSize
	for s.n > 0 { // zeros are left by a power cut
		var b [sumSize]byte
		if _, err := s.f.ReadAt(b[:], (s.n-1)*sumSize); err != nil || b != [sumSize]byte{} {
			break
		}
		s.n--
	}
	return s, nil
}

func (s *sums) close() {
	if s.f != nil {
		_ = s.f.Close() // what it holds can be computed again
	}
}

// at returns entry i; entry -1 is the beginning of the log.
func (s *sums) at(i int64) (end int64, crc uint32, err error) {
	if i < 0 {
		return 0, 0, nil
	}
	var b [sumSize]byte
	if _, err := s.f.ReadAt(b[:], i*sumSize); err != nil {
		return 0, 0, err
	}
	end, err1 := strconv.ParseInt(string(b[:13]), 16, 64)
	crc64, err2 := strconv.ParseUint(string(b[14:22]), 16, 32)
	if err1 != nil || err2 != nil || string(b[:]) != entry(end, uint32(crc64)) {
		return 0, 0, fmt.Errorf("entry %d of its sums: %w", i, ErrChanged)
	}
	return end, uint32(crc64), nil
}

func entry(end int64, crc uint32) string {
	b := fmt.Sprintf("%013x %08x", end, crc)
	return fmt.Sprintf("%s %08x\n", b, crc32.Checksum([]byte(b), castagnoli))
}

// add covers the bytes of a log up to end.
func (s *sums) add(log io.ReaderAt, end int64) error {
	from, _, err := s.at(s.n - 1)
	for err == nil && from < end {
		to := min(end, from+sumChunk)
		var crc uint32
		if crc, err = s.sum(log, from, to); err == nil {
			_, err = s.f.WriteAt([]byte(entry(to, crc)), s.n*sumSize)
		}
		from = to
		s.n++
	}
	return err
}

// sum returns the CRC of a part of the log; if the log is shorter, io.ErrUnexpectedEOF.
func (s *sums) sum(log io.ReaderAt, from, to int64) (crc uint32, err error) {
	if s.buf == nil {
		s.buf = make([]byte, 64<<10)
	}
	for from < to {
		n, err := log.ReadAt(s.buf[:min(to-from, int64(len(s.buf)))], from)
		crc = crc32.Update(crc, castagnoli, s.buf[:n])
		if from += int64(n); n == 0 {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
	}
	return crc, nil
}

// check compares the log from an offset on, and calls bad for each part that differs. It returns
// the end of the part that has sums.
func (s *sums) check(log io.ReaderAt, from int64, bad func(from, to int64, err error)) (int64, error) {
	first := int64(sort.Search(int(s.n), func(i int) bool {
		end, _, err := s.at(int64(i))
		return err != nil || end > from
	}))
	begin, _, err := s.at(first - 1)
	if err != nil {
		return from, err
	}
	for i := first; i < s.n; i++ {
		end, want, err := s.at(i)
		switch {
		case err == nil && end <= begin:
			err = fmt.Errorf("entry %d of its sums: %w", i, ErrChanged)
			fallthrough
		case errors.Is(err, ErrChanged):
			bad(begin, begin, err)
			continue // the next entry covers these bytes, and differs
		case err != nil:
			return begin, err
		}
		switch crc, err := s.sum(log, begin, end); {
		case errors.Is(err, io.ErrUnexpectedEOF):
			bad(begin, end, fmt.Errorf("%w: its end was cut off", ErrChanged))
			return begin, nil
		case err != nil:
			return begin, err
		case crc != want:
			bad(begin, end, ErrChanged)
		}
		begin = end
	}
	return begin, nil
}

// CheckSums compares a log from an offset on with its sums, and calls bad for each part of it that
// is not what was written. It returns how many bytes have sums: 0 if the log has none.
func (h *Home) CheckSums(name string, from int64, bad func(from, to int64, err error)) (int64, error) {
	s, err := openSums(h.root, name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, ioError("check", name, err)
	}
	defer s.close()
	f, err := h.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		if s.n > 0 {
			bad(0, 0, fmt.Errorf("%w: it was removed", ErrChanged))
		}
		return 0, nil
	}
	if err != nil {
		return 0, ioError("check", name, err)
	}
	defer f.Close()
	end, err := s.check(f, from, bad)
	if errors.Is(err, ErrChanged) {
		bad(from, from, err)
		return 0, nil
	}
	if err != nil {
		err = ioError("check", name, err)
	}
	return end, err
}

// Sum returns the CRC-32C of a whole file, in hexadecimal.
func (h *Home) Sum(name string) (string, error) {
	f, err := h.root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := crc32.New(castagnoli)
	_, err = io.Copy(sum, f)
	return fmt.Sprintf("%08x", sum.Sum32()), err
}

// checkEnd compares the end of a log with its last sum. A writer continues from there.
func (h *Home) checkEnd(name string) error {
	s, err := openSums(h.root, name, os.O_RDONLY)
	if err != nil {
		return nil // it has no sums
	}
	before, _, err := s.at(s.n - 2)
	s.close()
	if err != nil {
		before = 0
	}
	return h.Check(name, before)
}

// Check returns an error that wraps ErrChanged if a log differs from its sums from an offset on.
func (h *Home) Check(name string, from int64) error {
	var first error
	_, err := h.CheckSums(name, from, func(from, to int64, err error) {
		if first == nil {
			first = changed(h.Path(name), from, to, err)
		}
	})
	return errors.Join(first, err)
}

// CheckFile is Check for a log at any path.
func CheckFile(file string, from int64) error {
	dir, base := filepath.Split(file)
	if _, err := os.Lstat(dir + sumName(base)); err != nil {
		return nil // it has no sums
	}
	root, err := os.OpenRoot(filepath.Clean(dir))
	if err != nil {
		return ioError("check", file, err)
	}
	h := &Home{dir: filepath.Clean(dir), root: root}
	defer h.Close()
	return h.Check(base, from)
}

func changed(file string, from, to int64, err error) error {
	return sysexit.Hint(sysexit.Errorf(sysexit.Data, "%q: bytes %d to %d: %w", file, from, to, err),
		fmt.Sprintf("compare it with a backup; if you changed it on purpose, remove %q",
			filepath.Join(filepath.Dir(file), sumName(filepath.Base(file)))))
}

// sum covers the whole lines of the first size bytes, which are durable. A fault is not reported:
// the next append covers them.
func (l *Log) sum(size int64) {
	end, err := wholeLines(l.f, size)
	if err != nil || end == 0 {
		return
	}
	s, err := openSums(l.root, l.name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return
	}
	defer s.close()
	_ = s.add(l.f, end)
}
