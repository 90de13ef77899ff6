// Command prova runs challenges whose results anyone can check. See
// "prova --help"; the work is done in the packages below internal and evidence.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/prova-dev/prova/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Main(ctx, os.Args[1:], cli.SystemEnv())
	stop()
	os.Exit(code)
}
