extension SettingsFlags {
    /// What the option groups say, where nothing is said nil.
    init(
        global: GlobalOptions,
        connection: some ConnectionFlags,
        details: DetailOptions? = nil,
        sending: SendingFlags = SendingFlags()
    ) {
        self = connection.flags
        color = global.color
        orgName = details?.orgName
        eventType = details?.eventType
        jobs = sending.jobs
        transport = sending.transport?.transport?.rawValue
        chunkSize = sending.transport?.chunkSize
    }
}

/// Flags of commands that send, which settings know as well.
struct SendingFlags {
    var jobs: String?
    var transport: TransferOptions?
}
