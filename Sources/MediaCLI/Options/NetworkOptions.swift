internal import ArgumentParser

/// How a server is talked to.
struct NetworkOptions: ParsableArguments {
    @Option(
        name: .customLong("cacert"),
        help: ArgumentHelp("Trust the authorities in this PEM file.", valueName: "file"),
        completion: .file()
    )
    var caFile: String?

    @Option(
        help: ArgumentHelp(
            "Accept the server by its public key, sha256//BASE64; replaces the checks of chain and name.",
            valueName: "spec"
        )
    )
    var pinnedKey: String?

    @Flag(help: "Accept any certificate: whoever sits on the network can read the password or key.")
    var insecure = false

    @Flag(name: .customLong("allow-http"), help: "Send passwords, keys and tokens over plain http to other machines.")
    var allowHTTP = false

    @Flag(help: "Use HTTP/2 where the server has it. The default is HTTP/1.1, which costs less for large files.")
    var http2 = false

    @Option(
        help: ArgumentHelp(
            "Longest time to connect, 30s by default. Times are seconds, or like 30s, 5m and 1h.",
            valueName: "time"
        )
    )
    var connectTimeout: String?

    @Option(help: ArgumentHelp("Longest silence while sending or receiving, 60s by default.", valueName: "time"))
    var stallTimeout: String?

    @Option(
        help: ArgumentHelp("Longest wait for the answer after the last byte, 600s by default.", valueName: "time")
    )
    var answerTimeout: String?

    @Option(
        help: ArgumentHelp(
            "Send at most this many bytes a second, for example 500K or 20M (powers of 1024).",
            valueName: "rate"
        )
    )
    var limitRate: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How often a failed request is repeated where that is safe, 3 by default.", valueName: "n")
    )
    var retries: String?

    func validate() throws {
        guard !insecure || caFile == nil else {
            throw ValidationError("--insecure and --cacert exclude each other: one trusts everybody.")
        }
    }

    /// The given flags with these.
    func adding(to flags: SettingsFlags) -> SettingsFlags {
        var flags = flags
        flags.caFile = caFile
        flags.pinnedKey = pinnedKey
        flags.insecure = insecure ? true : nil
        flags.allowHTTP = allowHTTP ? true : nil
        flags.http2 = http2 ? true : nil
        flags.connectTimeout = connectTimeout
        flags.stallTimeout = stallTimeout
        flags.answerTimeout = answerTimeout
        flags.limitRate = limitRate
        flags.retries = retries
        return flags
    }
}
