internal import Foundation
internal import GigHive
internal import MediaStore
internal import MediaTransport
internal import Synchronization

/// Checks inputs before anything is sent, and makes the items of a batch of them.
struct UploadPlan: Sendable {
    let console: Console
    let store: StoreSession
    let uploader: Uploader
    let details: DetailPlan
    /// Largest standard input that is kept, in bytes.
    let maximumBytes: Int64

    /// An input and what came of checking it.
    struct Entry: Sendable {
        var input: UploadInput
        var item: UploadBatch.Item
        /// What is told about it; nil when that is what is wrong.
        var details: UploadDetails?

        var sizeBytes: Int64 {
            switch item {
            case .ready(let upload): upload.sizeBytes
            case .refused(let result): result.sizeBytes
            }
        }

        var error: GigHiveError? {
            if case .refused(let result) = item { result.error } else { nil }
        }
    }

    /// Checks all inputs, those of the manifest of this name among them.
    ///
    /// - Parameters:
    ///   - inputs: What was collected.
    ///   - manifest: Name of the manifest, when there is one.
    /// - Returns: An entry for each input, in their order.
    /// - Throws: `SpoolError`, `StoreError` when standard input cannot be kept; `Diagnosis` with all faults of a
    ///   manifest.
    func entries(of inputs: InputCollection.Inputs, manifest: String?) async throws -> [Entry] {
        SpoolFile.sweep(in: store.directory) { Uploader.needsSpool($0, in: store.store) }
        var entries: [Entry] = []
        entries.reserveCapacity(inputs.list.count)
        for input in inputs.list {
            entries.append(try await entry(for: input))
        }
        try refuseFaults(inputs.manifestFaults, in: entries, of: manifest)
        return entries
    }

    /// Removes spooled standard input that is not needed for resuming. To be called when nothing is sent any more.
    static func release(_ entries: [Entry]) {
        for case .ready(let upload) in entries.map(\.item) { upload.releaseSpool() }
    }

    /// Checks one input.
    ///
    /// - Throws: `SpoolError`, `StoreError` when standard input cannot be kept.
    func entry(for input: UploadInput) async throws -> Entry {
        var checked: UploadDetails?
        do {
            if let reason = input.unreadable {
                throw GigHiveError(.fileUnreadable, detail: reason, path: input.path)
            }
            let details = try details.details(of: input)
            checked = details
            let upload = try uploader.prepare(try await source(of: input), details: details)
            return Entry(input: input, item: .ready(upload), details: details)
        } catch let error as GigHiveError {
            var result = UploadResult(
                path: input.path,
                fileName: input.fileName,
                server: uploader.client.server.description,
                state: .failed
            )
            result.details = checked
            result.error = error
            return Entry(input: input, item: .refused(result), details: checked)
        }
    }

    private func refuseFaults(
        _ unreadable: [ManifestFaults.Fault],
        in entries: [Entry],
        of manifest: String?
    ) throws(Diagnosis) {
        guard let manifest else { return }
        let faulty = entries.compactMap { entry -> ManifestFaults.Fault? in
            guard case .manifest(let line) = entry.input.origin, let error = entry.error else { return nil }
            return .init(line: line, words: ErrorCatalogue.diagnosis(of: error).message)
        }
        let faults = (unreadable + faulty).sorted { $0.line < $1.line }
        if !faults.isEmpty {
            throw ManifestFaults(name: manifest, faults: faults).diagnosis
        }
    }

    // MARK: Standard input

    private func source(of input: UploadInput) async throws -> UploadSource {
        switch input.source {
        case .file(let path): .file(path: path)
        case .standardInput(let name): .spooled(try await spool(), name: name)
        }
    }

    /// Copies standard input to the data directory, on a thread of its own, since a pipe may be slow.
    private func spool() async throws -> SpoolFile {
        let input = console.context.standardInput
        let directory = store.directory
        let limit = maximumBytes
        let isCancelled = Mutex(false)
        return try await console.context.interruption.handling({ _ in isCancelled.withLock { $0 = true } }) {
            try await withCheckedThrowingContinuation { continuation in
                DispatchQueue.global().async {
                    continuation.resume(
                        with: Result {
                            try SpoolFile(
                                copying: input,
                                to: directory,
                                limit: limit,
                                isCancelled: { isCancelled.withLock { $0 } }
                            )
                        }
                    )
                }
            }
        }
    }
}
