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
        case .badRequest:
            diagnosis.hint = "correct it and go on with: mediactl uploads resume \(id) \(flag(for: error)) TEXT"
        case .networkTimeout, .connectionLost, .cannotConnect, .unknownHost, .requestTimeout, .serverError, .locked,
            .rateLimited:
            let which = isOneOfMany ? "--all" : id
            diagnosis.hint = "go on with the same command, or with: mediactl uploads resume \(which)"
        default: break
        }
        return diagnosis
    }

    /// The flag for the detail that a server refuses (gighive contract 2.5 has its words).
    private static func flag(for error: GigHiveError) -> String {
        if let field = error.field {
            return "--" + field.replacing("_", with: "-")
        }
        let fields = [
            "event_date", "org_name", "event_type", "participants", "keywords", "location", "rating", "notes",
        ]
        let named = fields.first { error.detail.lowercased().contains($0) }
        return "--" + (named ?? "label").replacing("_", with: "-")
    }
}
