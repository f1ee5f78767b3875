internal import ArgumentParser

/// Which server, and how it is talked to.
struct ConnectionOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Address of the server, https://HOST[:PORT].", valueName: "url"))
    var server: String?

    @Option(help: ArgumentHelp("Use this profile of the settings file.", valueName: "name"))
    var profile: String?

    @Option(help: ArgumentHelp("Log in as this user: uploader or admin on most servers.", valueName: "name"))
    var user: String?

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

    @Flag(help: "Accept any certificate: whoever sits on the network can read the password.")
    var insecure = false

    @Flag(name: .customLong("allow-http"), help: "Send credentials and tokens over plain http to other machines.")
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

    @Option(help: ArgumentHelp("Longest silence while sending, 60s by default.", valueName: "time"))
    var stallTimeout: String?

    @Option(
        help: ArgumentHelp("Longest wait for the answer after the last byte, 600s by default.", valueName: "time")
    )
    var answerTimeout: String?

    @Option(
        help: ArgumentHelp(
            "How long SIGTERM and SIGHUP still wait for the answer after the last byte, 30s by default.",
            valueName: "time"
        )
    )
    var finishTimeout: String?

    @Option(
        help: ArgumentHelp(
            "How long a server is asked for a file whose answer was lost, 330s by default. It may still be storing it.",
            valueName: "time"
        )
    )
    var settleTimeout: String?

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
}
