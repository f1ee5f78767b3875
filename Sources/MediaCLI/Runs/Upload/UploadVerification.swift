internal import GigHive
internal import MediaCore
internal import MediaStore

/// A run compared with the server's own listing.
struct UploadVerification: Sendable {
    /// Files of the run that the listing does not have in their event under their id.
    var missing: [UploadLedger.StoredFile]
    /// Positions of the files that it has.
    private var confirmed: Set<Int>
    /// Why the listing could not be read; then no file is confirmed, and none is missing.
    var failure: Diagnosis?

    init(missing: [UploadLedger.StoredFile], confirmed: Set<Int> = [], failure: Diagnosis? = nil) {
        self.missing = missing
        self.confirmed = confirmed
        self.failure = failure
    }

    /// Files that the listing has.
    var confirmedCount: Int { confirmed.count }

    /// Whether the listing has the file at this position of the run.
    func isConfirmed(_ index: Int) -> Bool { confirmed.contains(index) }

    /// Reads the listing once and looks every file up.
    static func of(
        _ files: [UploadLedger.StoredFile],
        _ verifier: UploadVerifier
    ) async -> UploadVerification {
        do {
            let missing = try await verifier.missing(among: files.map(\.upload)).map { files[$0] }
            let confirmed = Set(files.map(\.index)).subtracting(missing.map(\.index))
            return UploadVerification(missing: missing, confirmed: confirmed)
        } catch {
            return .impossible(ErrorCatalogue.diagnosis(of: error))
        }
    }

    /// The listing cannot be read.
    static func impossible(_ failure: Diagnosis) -> UploadVerification {
        UploadVerification(missing: [], failure: failure)
    }
}

extension StoredUpload {
    /// The file if the run reports it as stored; nil for other results, and without an ID or checksum.
    init?(_ result: UploadResult) {
        guard result.state.isStored, let fileID = result.fileID, let checksum = result.checksumSHA256,
            let details = result.details
        else { return nil }
        self.init(
            fileID: fileID,
            checksumSHA256: checksum,
            eventDate: details.eventDate,
            orgName: details.orgName
        )
    }
}

extension JSONRenderer {
    static func verification(_ verification: UploadVerification) -> JSONObject {
        [
            "asked": .bool(verification.failure == nil), "confirmed": JSONValue(verification.confirmedCount),
            "missing": .array(
                verification.missing.map { file in
                    .object([
                        "path": path(file.path), "file_id": .integer(file.upload.fileID),
                        "checksum_sha256": .string(file.upload.checksumSHA256),
                        "event_date": .string(file.upload.eventDate), "org_name": .string(file.upload.orgName),
                    ])
                }
            ),
            "reason": JSONValue(verification.failure?.message),
        ]
    }
}

extension Console {
    /// Prints a verification: a line for each file that the server does not list, and a warning if it cannot be read.
    func tell(_ verification: UploadVerification) {
        record(.verification, JSONRenderer.verification(verification))
        if let failure = verification.failure {
            warning("cannot verify the files against the server's listing: \(failure.message)")
        }
        for file in verification.missing {
            error(
                Diagnosis(
                    "not_listed",
                    "\(ErrorCatalogue.quoted(file.path)): the server does not list \(file.upload.fileID) in its event",
                    exitCode: .partly
                )
            )
        }
    }
}
