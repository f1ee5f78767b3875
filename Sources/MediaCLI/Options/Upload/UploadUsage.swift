internal import ArgumentParser

/// What the flags of an upload may not say together.
struct UploadUsage {
    private let command: Upload

    init(_ command: Upload) {
        self.command = command
    }

    /// - Throws: `ValidationError`.
    func check() throws {
        try checkInputs()
        try checkStandardInput()
        try checkGuest()
    }

    private func checkInputs() throws {
        let input = command.input
        guard !command.paths.isEmpty || !input.lists.isEmpty || input.watch != nil else {
            throw ValidationError(
                "Specify files to upload, or use --files-from, --manifest or --watch."
            )
        }
        guard input.watch == nil || command.paths.isEmpty else {
            throw ValidationError("--watch cannot be combined with other inputs.")
        }
        guard input.watch == nil || command.sending.verify != true else {
            throw ValidationError("--verify cannot be combined with --watch; use mediactl uploads verify afterwards.")
        }
        guard input.watch == nil || (!command.sending.dryRun && !command.sending.failFast) else {
            throw ValidationError("--watch cannot be combined with --dry-run or --fail-fast.")
        }
    }

    private func checkStandardInput() throws {
        let isPiped = command.paths.contains("-")
        guard command.paths.count(where: { $0 == "-" }) <= 1 else {
            throw ValidationError("Standard input can be uploaded only once.")
        }
        guard !isPiped || command.input.stdinName != nil else {
            throw ValidationError("Standard input requires a name: --stdin-name NAME.")
        }
        guard isPiped || command.input.stdinName == nil else {
            throw ValidationError("--stdin-name requires the path -.")
        }
        guard !isPiped || !command.credentials.passwordStdin else {
            throw ValidationError("Standard input cannot be both the file and the password.")
        }
        guard !isPiped || command.input.shard == nil else {
            throw ValidationError("Standard input cannot be combined with --shard.")
        }
        let files =
            command.input.lists
            + [
                ("--event-link-file", command.guest.eventLinkFile),
                ("--upload-token-file", command.guest.uploadTokenFile),
            ].compactMap { flag, value in value.map { (flag, $0) } }
        let readers =
            (isPiped ? ["the file -"] : []) + (command.credentials.passwordStdin ? ["--password-stdin"] : [])
            + files.filter { $0.1 == "-" }.map(\.0)
        try StandardInputReaders.check(readers)
    }

    private func checkGuest() throws {
        guard command.guest.isGuest else { return }
        let refused = command.details.given.keys.filter { $0 != "label" }.sorted()
        guard refused.isEmpty else {
            let flags = refused.map { "--" + $0.replacing("_", with: "-") }.joined(separator: ", ")
            throw ValidationError("The event link specifies the event: omit \(flags).")
        }
        guard command.sending.transfer.transport != .multipart else {
            throw ValidationError("Event links require tus: omit --transport multipart.")
        }
    }
}
