internal import GigHive
internal import MediaStore

extension ErrorCatalogue {
    /// What went wrong with an upload, and how it goes on: the server keeps what it has of one that went over tus.
    ///
    /// - Parameters:
    ///   - result: How it ended.
    ///   - isOneOfMany: Whether other uploads of the run may have failed the same way.
    /// - Returns: nil when nothing went wrong.
    static func diagnosis(of result: UploadResult, isOneOfMany: Bool = false) -> Diagnosis? {
        guard let error = result.error else { return nil }
        var diagnosis = diagnosis(of: error)
        guard result.transport == .tus, result.attempts > 0, let id = result.uploadID else { return diagnosis }
        switch error.code {
        case .serverError where refusedFlag(error) != nil:
            diagnosis.hint = refusedFlag(error).map {
                "correct it and resume: mediactl uploads resume \(id) \($0) TEXT"
            }
        case .badRequest:
            // Only a detail can be corrected, not a type or size that the server refuses.
            diagnosis.hint = flag(for: error).map { "correct it and resume: mediactl uploads resume \(id) \($0) TEXT" }
        case .rateLimited where error.isPendingLimit: break
        case .networkTimeout, .connectionLost, .cannotConnect, .unknownHost, .requestTimeout, .serverError, .locked,
            .rateLimited, .serverUnavailable:
            let which = isOneOfMany ? "--all" : id
            let resume = result.isResumable ? ", or: mediactl uploads resume \(which)" : ""
            diagnosis.hint = "run the same command again\(resume)"
        default: break
        }
        return diagnosis
    }

    /// The flag for the detail that a server refuses (messages: gighive contract 2.5); nil for other refusals.
    private static func flag(for error: GigHiveError) -> String? {
        let fields = [
            "event_date", "org_name", "event_type", "label", "participants", "keywords", "location", "rating", "notes",
        ]
        let named = error.field ?? fields.first { error.detail.lowercased().contains($0) }
        return named.map { "--" + $0.replacing("_", with: "-") }
    }
}
