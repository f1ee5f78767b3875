/// What `tapes add` and `tapes insert` have in common.
protocol TapeAddingCommand: ContextCommand {
    var tape: String { get }
    var files: [String] { get }
    var input: TapeInputOptions { get }
    var adding: TapeAddingOptions { get }
    var connection: TapeConnectionOptions { get }
}

extension TapeAddingCommand {
    func validate() throws {
        try input.check(files, isStandardInputTaken: connection.key.apiKeyStdin)
    }

    /// Adds the files.
    ///
    /// - Parameters:
    ///   - position: How many clips stay before them; nil for all.
    ///   - console: Where it is told.
    /// - Returns: How the program ends.
    /// - Throws: `TapesError`, `Diagnosis`, `StoreError`, `CredentialError`, `TransportError`.
    func add(at position: Int?, in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let tape = try session.tape(tape)
        let display = RunDisplay<TapeReading>(console, writesRecords: global.progressEvents)
        let isAlbumLeft = adding.noAlbum || adding.dryRun
        let run = TapeAdditionRun(
            session: session,
            service: isAlbumLeft ? nil : try await session.service(connection.key, progress: display),
            display: display,
            options: adding,
            input: input,
            position: position
        )
        return try await run.run(tape, try await UploadedFiles.paths(files, input, session: session))
    }
}
