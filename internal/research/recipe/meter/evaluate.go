package meter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/prova-dev/prova/internal/research/recipe"
	"github.com/prova-dev/prova/internal/research/strict"
)

// PrimaryFile is what an evaluator writes to /out: one JSON object with the member
// "primary_value", a finite number.
const PrimaryFile = "primary.json"

// ErrEvaluator is in the error of an evaluator that ran and gave no primary value.
var ErrEvaluator = errors.New("the evaluator gave no value")

// Evaluation says what an evaluator sees: /in/public, which the recipe saw too,
// /in/outputs, which it wrote, and /in/holdout, which it never sees.
type Evaluation struct {
	Public  fs.FS // nil: an empty folder
	Holdout fs.FS // nil: an empty folder
	Outputs recipe.Tree
	Seed    uint64
}

// Evaluate runs a topic's evaluator on the outputs of a run and returns the primary
// value. It runs as a recipe does, without a limit to its operations.
func Evaluate(ctx context.Context, evaluator []byte, e Evaluation) (float64, error) {
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	input, err := load(nil)
	if err != nil {
		return 0, err
	}
	if err := input.add(input.folder("public"), e.Public); err != nil {
		return 0, fmt.Errorf("public files of the evaluator: %w", err)
	}
	if err := input.add(input.folder("holdout"), e.Holdout); err != nil {
		return 0, fmt.Errorf("holdout of the evaluator: %w", err)
	}
	if err := input.addTree(input.folder("outputs"), e.Outputs); err != nil {
		return 0, fmt.Errorf("outputs for the evaluator: %w", err)
	}
	r, err := run(ctx, evaluator, Options{Seed: e.Seed, DeclaredFLOPs: math.MaxInt64}, input)
	if err != nil {
		return 0, fmt.Errorf("evaluator: %w", err)
	}
	if r.Trap != "" || r.ExitCode != 0 {
		return 0, fmt.Errorf("%w: it ended with code %d %s and wrote %q", ErrEvaluator, r.ExitCode, r.Trap, last(r.Stdout, 200))
	}
	data, found := r.Outputs.File(PrimaryFile)
	if !found {
		return 0, fmt.Errorf("%w: it wrote no /out/%s", ErrEvaluator, PrimaryFile)
	}
	v, err := strict.JSON(data)
	if err != nil {
		return 0, fmt.Errorf("%w: /out/%s: %w", ErrEvaluator, PrimaryFile, err)
	}
	var primary *float64
	if err := strict.Object(strict.Key("primary_value", strict.Optional(&primary, strict.Float)))(v, ""); err != nil {
		return 0, fmt.Errorf("%w: /out/%s: %w", ErrEvaluator, PrimaryFile, err)
	}
	if primary == nil {
		return 0, fmt.Errorf("%w: /out/%s has no primary_value", ErrEvaluator, PrimaryFile)
	}
	return *primary, nil
}

func last(text []byte, n int) []byte { return text[max(0, len(text)-n):] }
