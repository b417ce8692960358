package runs

// callStages are the stages of a call of a tool.
var callStages = []stage{
	{"resolve", whileAccepted, resolve},
	{"validate", whileAccepted, validate},
	{"authorise", whileAccepted, authorise},
	{"approve", whileAccepted, approve},
	{"revalidate", whileAccepted, revalidate},
	{"invoke", whileAccepted, invoke},
	{"check reply", onceInvoked, checkReply},
	{stageRecord, always, recordCall},
}

// queryStages are the stages of a search or a description. The catalog alone answers it.
var queryStages = []stage{
	{"invoke", whileAccepted, invokeQuery},
	{stageRecord, always, recordQuery},
}

// programStages are the stages of the call that stands for a held program.
var programStages = []stage{
	{"resolve", whileAccepted, resolveProgram},
	{"approve", whileAccepted, approve},
	{stageRecord, always, recordCall},
}
