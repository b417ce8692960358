package pipeline

// CallStages are the stages of a call of a tool. A tool that asks a person sends its call
// back to the stage approve.
var CallStages = []stage{
	{stageResolve, whileAccepted, resolve},
	{"validate", whileAccepted, validate},
	{stageAuthorise, whileAccepted, authorise},
	{stageApprove, whileAccepted, approve},
	{"revalidate", whileAccepted, revalidate},
	{stageInvoke, whileAccepted, invoke},
	{"check reply", onceInvoked, checkReply},
	{stageRecord, always, recordCall},
}

// queryStages are the stages of a search or a description. The catalog alone answers it.
var queryStages = []stage{
	{stageInvoke, whileAccepted, invokeQuery},
	{stageRecord, always, recordQuery},
}

// programStages are the stages of the call that stands for a held program.
var programStages = []stage{
	{stageResolve, whileAccepted, resolveProgram},
	{stageApprove, whileAccepted, approve},
	{stageRecord, always, recordCall},
}
