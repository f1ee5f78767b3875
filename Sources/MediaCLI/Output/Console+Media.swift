internal import GigHive
internal import MediaCore
internal import MediaTransport

extension Console {
    /// Writes a list of files and its summary.
    ///
    /// - Parameters:
    ///   - files: What was found.
    ///   - server: Where it was found.
    ///   - withDetails: Whether sizes and upload times were requested.
    ///   - emptyCode: How the program ends when nothing was found.
    /// - Returns: How the program ends.
    func list(_ files: [ServerMedia], on server: ServerURL, withDetails: Bool, emptyCode: ExitCode) -> ExitCode {
        for file in files {
            record(.item, JSONRenderer.media(file, on: server))
        }
        text(TextRenderer.media(files, withDetails: withDetails, width: outputWidth, style: outputStyle))
        let code = exitCode(files.isEmpty ? emptyCode : .success)
        summary([
            "server": .string(server.description), "items": JSONValue(files.count),
            "exit_code": JSONRenderer.exitCode(code),
        ])
        return code
    }
}
