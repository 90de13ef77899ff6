package cli

import "github.com/spf13/cobra"

// commands lists the constructors of all commands, in the order of the help.
var commands = []func(*Env) *cobra.Command{
	newDemoCmd,
	newRunCmd,
	newConfigCmd,
	newServeCmd,
	newSeasonCmd,
	newScoreCmd,
	newReplayCmd,
	newVerifyCmd,
	newCorpusCmd,
	newTopicCmd,
	newHoldoutCmd,
	newOfferCmd,
	newBaselineCmd,
	newKeysCmd,
	newRecipeCmd,
	newSubmitCmd,
	newResearchCmd,
	newArtefactCmd,
	newSandboxCmd,
	newVersionCmd,
}
