internal import GigHive

/// The report of an earlier run, as `--retry-failed` reads it.
struct PastReport: Sendable {
    /// States with nothing left to do: the event has the file. Uploading it again does not restore a lost token.
    private static let goodEnds: Set<String> = ["done", "linked", "duplicate", "token_lost"]

    private let document: ReportDocument

    /// Reads a report.
    ///
    /// - Throws: `Diagnosis` (usage) when it is none.
    init(reading bytes: [UInt8], name: String) throws(Diagnosis) {
        // What has no path or no end was not written by us.
        guard let document = ReportDocument(bytes), document.items.allSatisfy({ $0.path != nil && $0.state != nil })
        else {
            throw .usage(
                "--retry-failed: \(ErrorCatalogue.quoted(RawArguments.bytes(of: name))) is not an upload report",
                hint: "write a report with: mediactl upload --report FILE"
            )
        }
        self.document = document
    }

    /// Number of files of that run.
    var itemCount: Int { document.items.count }

    private var failed: [ReportedUpload] { document.items.filter { !Self.goodEnds.contains($0.state ?? "") } }

    /// Address of the server that the run uploaded to.
    var server: String { document.server ?? "" }

    /// The files that the run reported as stored, each with its path.
    var storedItems: [(path: [UInt8], upload: StoredUpload)] {
        document.items.compactMap { item in
            guard Self.goodEnds.contains(item.state ?? ""), let path = item.bytes, let fileID = item.fileId,
                let checksum = item.checksumSha256, let date = item.eventDate, let orgName = item.orgName
            else { return nil }
            let upload = StoredUpload(fileID: fileID, checksumSHA256: checksum, eventDate: date, orgName: orgName)
            return (path, upload)
        }
    }

    /// How many of those that failed were standard input.
    var unreadableCount: Int { failed.count { $0.path == "-" } }

    /// The files that did not end well. Relative paths of another directory than the present one are completed.
    func inputs(from directory: String) -> [UploadInput] {
        failed.compactMap { item in
            guard item.path != "-", let path = item.bytes else { return nil }
            return UploadInput(
                source: .file(
                    document.workingDirectory == directory ? path : path.absolute(from: document.workingDirectory)
                ),
                origin: .report,
                fields: item.fields
            )
        }
    }
}
