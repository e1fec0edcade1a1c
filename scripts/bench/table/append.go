package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tri/lib/base/durable"
)

// durable writes lines one by one: as the logs of a home are written, as the least
// that is durable can be, and as what is not durable at all.
func (b *bench) durable() error {
	const lines = 100
	dir := filepath.Join(b.work, "append")
	home, err := durable.Open(dir)
	if err != nil {
		return err
	}
	defer home.Close()
	log, err := home.OpenLog("log")
	if err != nil {
		return err
	}
	defer log.Close()
	bare, err := os.OpenFile(filepath.Join(dir, "bare"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer bare.Close()
	line := []byte(message("m1", "how many partitions should I make, and how large should each be?", 0))
	give := func(int64) ([]byte, error) { return line, nil }
	synced := func() error {
		_, err := bare.Write(line)
		if err == nil {
			err = bare.Sync()
		}
		return err
	}
	g := b.group("a line", seconds)
	for range b.rounds {
		for _, way := range []struct {
			who   string
			times int
			write func() error
			end   func() error
		}{
			{"a log of ours, durable", lines, func() error { _, err := log.Append(give); return err }, nil},
			{"write, fsync", lines, synced, nil},
			{"a log of ours, synced every 50 ms", 100 * lines, func() error {
				_, err := log.Write(give)
				return err
			}, log.Sync},
			{"write", 100 * lines, func() error { _, err := bare.Write(line); return err }, nil},
		} {
			took, err := timed(way.times, way.write, way.end)
			if err != nil {
				return fmt.Errorf("%s: %w", way.who, err)
			}
			g.add(way.who, took)
		}
	}
	return nil
}

// timed is the seconds of one of so many writes; end comes every 50 ms, as stages
// have it when more keeps coming, and last.
func timed(times int, write, end func() error) (float64, error) {
	began := time.Now()
	synced := began
	for range times {
		if err := write(); err != nil {
			return 0, err
		}
		if end != nil && time.Since(synced) >= 50*time.Millisecond {
			synced = time.Now()
			if err := end(); err != nil {
				return 0, err
			}
		}
	}
	if end != nil {
		if err := end(); err != nil {
			return 0, err
		}
	}
	return time.Since(began).Seconds() / float64(times), nil
}
