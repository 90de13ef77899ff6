package store_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/platform/store/storetest"
)

// writerChild makes the test binary the victim: it writes rows and prints the
// id of each that was acknowledged.
const writerChild = "PROVA_STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if url := os.Getenv(writerChild); url != "" {
		writeUntilKilled(url)
	}
	os.Exit(m.Run())
}

func writeUntilKilled(url string) {
	d, err := store.Open(context.Background(), url)
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	first, _ := strconv.Atoi(os.Getenv(writerChild + "_FIRST"))
	for w := range 8 {
		go func() {
			write := d.Batch
			if w == 0 {
				write = d.Tx
			}
			for i := first + w; ; i += 8 {
				if err := write(context.Background(), insert(i, fmt.Sprint(i))); err != nil {
					fmt.Println("error", err)
					os.Exit(1)
				}
				// One write each, so that lines do not mix.
				_, _ = fmt.Fprintln(os.Stdout, "kept", i)
			}
		}()
	}
	select {}
}

// TestAcknowledgedRowsSurviveKill9 kills a writing process several times at
// different moments: every row it was told is durable must be there.
func TestAcknowledgedRowsSurviveKill9(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		open(t, url)
		acknowledged := map[string]bool{}
		for round := range 5 {
			child := exec.Command(os.Args[0], "-test.run=^$")
			child.Env = append(os.Environ(), writerChild+"="+url, fmt.Sprintf("%s_FIRST=%d", writerChild, round*1_000_000))
			child.Stderr = os.Stderr
			out, err := child.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, child.Start())
			lines, seen := bufio.NewScanner(out), 0
			for lines.Scan() {
				id, ok := strings.CutPrefix(lines.Text(), "kept ")
				if !ok {
					t.Fatalf("the child said: %s", lines.Text())
				}
				acknowledged[id] = true
				if seen++; seen == 40+17*round {
					time.AfterFunc(time.Duration(round)*time.Millisecond, func() { _ = child.Process.Kill() })
				}
			}
			require.Error(t, child.Wait(), "the child was killed")
		}
		d := open(t, url)
		stored := map[string]bool{}
		for _, w := range words(t, d) {
			stored[w] = true
		}
		require.Greater(t, len(acknowledged), 300)
		for id := range acknowledged {
			require.True(t, stored[id], "row %s was acknowledged and is gone", id)
		}
		// What was committed and not yet acknowledged may be there as well, at most
		// one row a writer and round.
		require.LessOrEqual(t, len(stored)-len(acknowledged), 8*5)
	})
}
