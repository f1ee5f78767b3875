internal import GigHive
internal import MediaFiles

/// Everything that is wrong with a manifest, so that it is put right in one go.
struct ManifestFaults: Sendable {
    struct Fault: Sendable, Equatable {
        var line: Int
        var words: String
    }

    var name: String
    var faults: [Fault]

    /// One error for all of them. Nothing is sent.
    var diagnosis: Diagnosis {
        let file = name == "-" ? "the manifest" : "the manifest \(ErrorCatalogue.quoted(RawArguments.bytes(of: name)))"
        var diagnosis = Diagnosis(
            "invalid_manifest",
            "\(file) has \(Formats.count(faults.count, "error")); nothing was sent",
            hint: "fix them and run the same command again",
            exitCode: .usage
        )
        diagnosis.details = faults.map { "line \($0.line): \($0.words)" }
        return diagnosis
    }
}

extension ManifestFaults.Fault {
    init(_ fault: ManifestError.Fault) {
        let column = fault.column.map { "\(ErrorCatalogue.clean($0)): " } ?? ""
        let nearest = fault.column.flatMap { name in
            Manifest.columns.contains(name) ? nil : Spelling.nearest(to: name, among: Manifest.columns)
        }
        let reason = nearest.map { "unknown column; did you mean \($0)?" } ?? ErrorCatalogue.clean(fault.reason)
        self.init(line: fault.line, words: column + reason)
    }
}
