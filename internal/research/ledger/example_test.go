package ledger_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/research/ledger"
)

// Two processes score on one topic: the second takes the lease over, and the first
// is told so when it comes back.
func Example() {
	if err := takeOver(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// w1 has fence 1
	// while it is held: true
	// w2 has fence 2
	// w1 renews: ledger: lease of topic-a: the lease was lost
}

func takeOver(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := store.Open(ctx, "sqlite:"+filepath.Join(dir, "research.db"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	l, err := ledger.Open(ctx, db, ledger.Options{})
	if err != nil {
		return err
	}
	first, err := l.Acquire(ctx, "topic-a", "w1", 0) // over at once
	if err != nil {
		return err
	}
	fmt.Println("w1 has fence", first.Fence)
	second, err := l.Acquire(ctx, "topic-a", "w2", 1<<40)
	if err != nil {
		return err
	}
	third, err := l.Acquire(ctx, "topic-a", "w3", 1<<40)
	if err != nil {
		return err
	}
	fmt.Println("while it is held:", third == nil)
	fmt.Println("w2 has fence", second.Fence)
	fmt.Println("w1 renews:", l.Renew(ctx, *first))
	return nil
}
