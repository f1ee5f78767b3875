public import CaptureSubmission
internal import MediaCrypto
public import MediaStore
internal import MediaTransport

extension CaptureSession {
    /// The one record whose id begins like this.
    ///
    /// - Parameter idPrefix: Hexadecimal digits and hyphens, in either case; not empty.
    /// - Returns: The record.
    /// - Throws: `CaptureError` `.captureUnknown` when there is none or more than one.
    public func record(_ idPrefix: String) throws(CaptureError) -> CaptureRecord {
        let prefix = idPrefix.lowercased()
        let found = try CaptureError.stored { () throws(StoreError) in
            prefix.isEmpty ? [] : try surroundings.library.captures(idPrefix: prefix)
        }
        guard let record = found.first else { throw CaptureError(.captureUnknown, value: idPrefix) }
        guard found.count == 1 else {
            throw CaptureError(.captureUnknown, detail: "\(found.count) captures begin like this", value: idPrefix)
        }
        return record
    }

    var server: String { client.server.description }

    func all() throws(CaptureError) -> [CaptureRecord] {
        try CaptureError.stored { () throws(StoreError) in try surroundings.library.captures() }
    }

    func stored(_ id: String) throws(CaptureError) -> CaptureRecord? {
        try CaptureError.stored { () throws(StoreError) in try surroundings.library.capture(id) }
    }

    /// The records of a digest, newest first.
    func records(of digest: SHA256Digest) throws(CaptureError) -> [CaptureRecord] {
        try records(ofMedia: digest.hex)
    }

    /// The same by its hexadecimal form.
    func records(ofMedia hash: String) throws(CaptureError) -> [CaptureRecord] {
        try CaptureError.stored { () throws(StoreError) in try surroundings.library.captures(ofMedia: hash) }
    }

    func keep(_ record: CaptureRecord) throws(CaptureError) {
        try CaptureError.stored { () throws(StoreError) in try surroundings.library.keep(record) }
    }

    /// This machine as the server knows it.
    ///
    /// - Throws: `CaptureError` `.notRegistered`, also when it is registered for another profile.
    func device() throws(CaptureError) -> CaptureDeviceRecord {
        let record = try CaptureError.stored { () throws(StoreError) in
            try surroundings.library.captureDevice(for: server)
        }
        guard let record else { throw CaptureError(.notRegistered, value: server) }
        guard record.profile == profile.rawValue else {
            throw CaptureError(
                .notRegistered,
                detail: "this machine is registered there for the profile \(record.profile)",
                value: server
            )
        }
        return record
    }

    /// The counter of a device, for this exchange alone.
    func lock(_ device: String, patience: Duration = .seconds(60)) async throws(CaptureError) -> CounterFile {
        do {
            return try await CounterFile.lock(device: device, in: surroundings.directory, patience: patience)
        } catch let error as StoreError {
            throw CaptureError(error)
        } catch {
            throw CaptureError(.cancelled)
        }
    }
}
