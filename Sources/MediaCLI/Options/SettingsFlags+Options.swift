extension SettingsFlags {
    /// What the option groups say, where nothing is said nil.
    init(
        global: GlobalOptions,
        connection: ConnectionOptions,
        details: DetailOptions? = nil,
        sending: SendingFlags = SendingFlags()
    ) {
        self.init(
            server: connection.server,
            profile: connection.profile,
            user: connection.user,
            caFile: connection.caFile,
            pinnedKey: connection.pinnedKey,
            insecure: connection.insecure ? true : nil,
            allowHTTP: connection.allowHTTP ? true : nil,
            http2: connection.http2 ? true : nil,
            connectTimeout: connection.connectTimeout,
            stallTimeout: connection.stallTimeout,
            answerTimeout: connection.answerTimeout,
            finishTimeout: connection.finishTimeout,
            settleTimeout: connection.settleTimeout,
            limitRate: connection.limitRate,
            retries: connection.retries,
            color: global.color,
            orgName: details?.orgName,
            eventType: details?.eventType,
            jobs: sending.jobs,
            transport: sending.transport?.transport?.rawValue,
            chunkSize: sending.transport?.chunkSize
        )
    }
}

/// Flags of commands that send, which settings know as well.
struct SendingFlags {
    var jobs: String?
    var transport: TransferOptions?
}
