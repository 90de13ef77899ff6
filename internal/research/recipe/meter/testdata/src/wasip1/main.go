// Command metered is what the tests of the meter run: a WASI command of Go's own
// compiler.
package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

var sink float64

func main() {
	switch os.Args[1] {
	case "loop":
		turns, err := strconv.Atoi(os.Args[2])
		check(err)
		x := 1.0
		for range turns {
			x = x*0.5 + 1/x
		}
		sink = x
	case "world":
		world()
	case "exit":
		fmt.Fprintln(os.Stderr, "leaving")
		os.Exit(3)
	case "panic":
		panic("no")
	case "deadlock":
		<-make(chan int)
	case "memory":
		var all [][]byte
		for {
			all = append(all, make([]byte, 1<<24))
			sink += float64(len(all))
		}
	case "full":
		f, err := os.Create("/out/big")
		check(err)
		for {
			_, err := f.Write(make([]byte, 4096))
			check(err)
		}
	case "flood":
		for i := range 10000 {
			fmt.Println("line", i)
		}
		fmt.Println("last line")
	}
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func world() {
	fmt.Println("args", os.Args)
	fmt.Println("env", os.Environ())
	now := time.Now()
	fmt.Printf("1999-01-01: %t, 2001-01-01: %t\n", now.Before(time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)), now.Before(time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)))
	time.Sleep(time.Hour)
	if slept := time.Since(now); slept >= time.Hour && slept < time.Hour+time.Second {
		fmt.Println("slept 1h0m0s at most 1s more")
	}
	fmt.Println("/in", names("/in"))
	data, err := os.ReadFile("/in/points.csv")
	check(err)
	fmt.Printf("/in/points.csv %q\n", data)
	refused("write /in: read-only", os.WriteFile("/in/new", nil, 0o644))
	refused("write /: refused", os.WriteFile("/new", nil, 0o644))

	check(os.MkdirAll("/out/model", 0o755))
	f, err := os.OpenFile("/out/model/weights", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	check(err)
	fmt.Fprintln(f, 0.5)
	fmt.Fprintln(f, 0.25)
	check(f.Close())
	check(os.WriteFile("/out/first", []byte("1"), 0o644))
	check(os.Rename("/out/first", "/out/moved"))
	check(os.WriteFile("/out/kept.txt", []byte("longer than it stays"), 0o644))
	check(os.Truncate("/out/kept.txt", 6))
	check(os.WriteFile("/out/gone", []byte("x"), 0o644))
	check(os.Remove("/out/gone"))
	check(os.MkdirAll("/out/empty/folder", 0o755))
	check(os.RemoveAll("/out/empty"))
	fmt.Println("/out", names("/out"))
	_, err = os.ReadFile(filepath.Join("/in", "..", "..", "etc", "passwd"))
	refused("up: refused", err)
	in, err := io.ReadAll(os.Stdin)
	check(err)
	fmt.Println("stdin", len(in))

	fmt.Print("random ", rand.Uint64())
	order := map[int]bool{}
	for i := range 50 {
		order[i] = true
	}
	for i := range order {
		fmt.Print(" ", i)
	}
	fmt.Println()
}

func names(dir string) []string {
	entries, err := os.ReadDir(dir)
	check(err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func refused(what string, err error) {
	if err != nil {
		fmt.Println(what)
	}
}
