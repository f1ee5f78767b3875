public import CaptureSubmission
internal import MediaStore

extension CaptureSession {
    /// Finishes what processes that have died left: drafts in the vault, records in `submitted` without an owner, which
    /// become `unknown_outcome`. Called at the start of every command.
    ///
    /// - Throws: `CaptureError` `.storeUnusable`, `.vaultUnusable`.
    public func adopt() async throws(CaptureError) {
        let library = surroundings.library
        try vault.adopt { id in try library.capture(id) != nil }
        for record in try all() where record.state == .submitted {
            try await adopt(record)
        }
    }

    /// Whoever submits a record holds the counter of its device, so a counter that is free has no owner.
    private func adopt(_ record: CaptureRecord) async throws(CaptureError) {
        guard let device = record.deviceID else { return try abandon(record.id) }
        let counter: CounterFile
        do throws(CaptureError) {
            counter = try await lock(device, patience: .zero)
        } catch {
            if error.code == .busy { return }
            throw error
        }
        defer { counter.release() }
        try abandon(record.id)
    }

    /// The record as it is now, since its owner may just have ended it.
    private func abandon(_ id: String) throws(CaptureError) {
        guard var record = try stored(id), record.state == .submitted else { return }
        record.state = .unknownOutcome
        record.errorCode = CaptureError.Code.unknownOutcome.rawValue
        record.errorDetail = "the program ended before the answer came"
        record.httpStatus = nil
        record.updatedAt = surroundings.now()
        try keep(record)
    }
}
