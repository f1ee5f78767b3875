internal import Foundation
internal import GigHive
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// Checks inputs before anything is sent and creates the items of a batch.
struct UploadPlan: Sendable {
    let console: Console
    let store: StoreSession
    var uploader: Uploader
    let details: DetailPlan
    /// Maximum size of standard input, in bytes.
    let maximumBytes: Int64

    /// Checks all inputs and returns an item for each, in their order.
    ///
    /// - Throws: `SpoolError`, `StoreError` if standard input cannot be stored; `UserFacingError` with all errors of
    ///   `manifest`.
    func items(of inputs: [UploadInput], manifest: UploadManifest?) async throws -> [UploadBatch.Item] {
        SpoolFile.sweep(in: store.directory) { Uploader.needsSpool($0, in: store.store) }
        var items: [UploadBatch.Item] = []
        items.reserveCapacity(inputs.count)
        var errors = manifest?.errors ?? []
        // The files are checked on all cores; standard input follows.
        let cores = ProcessInfo.processInfo.activeProcessorCount
        let count = max(Self.sliceCount, (inputs.count - 1) / cores + 1)
        let slices = stride(from: 0, to: inputs.count, by: count).map { inputs[$0...].prefix(count) }
        let files = await withBoundedTasks(slices, limit: cores) { slice in
            await BlockingWork.run { slice.map { $0.standardInputName == nil ? file($0) : nil } }
        }
        for (input, file) in zip(inputs, files.joined()) {
            let item = if let file { file } else { try await item(for: input) }
            items.append(item)
            if case .manifest(let line) = input.origin, let error = item.error {
                errors.append(ManifestError(line: line, words: ErrorCatalog.userFacingError(of: error).message))
            }
        }
        if let manifest, !errors.isEmpty {
            throw UserFacingError.invalidManifest(manifest.name, errors.sorted { $0.line < $1.line })
        }
        return items
    }

    /// Removes spooled standard input that is not needed for resuming. Call it after the last upload.
    static func release(_ items: [UploadBatch.Item]) {
        for case .ready(let upload) in items { upload.releaseSpool() }
    }

    /// Up to this number of files, one thread checks them faster than several.
    private static let sliceCount = 128

    private func file(_ input: UploadInput) -> UploadBatch.Item {
        var checked: UploadDetails?
        do throws(GigHiveError) {
            if let reason = input.unreadable {
                throw GigHiveError(.fileUnreadable, detail: reason, path: input.path)
            }
            let details = try details.details(of: input)
            checked = details
            return .ready(try uploader.prepare(input.path, details: details))
        } catch {
            return refused(input, checked, error)
        }
    }

    /// - Throws: `SpoolError`, `StoreError` if standard input cannot be stored.
    func item(for input: UploadInput) async throws -> UploadBatch.Item {
        guard let name = input.standardInputName else { return file(input) }
        let details: UploadDetails
        do throws(GigHiveError) {
            details = try self.details.details(of: input)
        } catch {
            return refused(input, nil, error)
        }
        let spool = try await spool()
        do throws(GigHiveError) {
            return .ready(try uploader.prepare(Array(name.utf8), spool: spool, details: details))
        } catch {
            return refused(input, details, error)
        }
    }

    private func refused(_ input: UploadInput, _ details: UploadDetails?, _ error: GigHiveError) -> UploadBatch.Item {
        var result = UploadResult(
            path: input.path,
            fileName: input.fileName,
            server: uploader.client.server.description,
            state: .failed
        )
        result.details = details
        result.error = error
        return .refused(result)
    }

    /// Copies standard input to the data directory on a separate thread, since a pipe may be slow.
    private func spool() async throws -> SpoolFile {
        let input = console.context.standardInput
        let directory = store.directory
        let limit = maximumBytes
        return try await console.context.interruption.canceling {
            try await BlockingWork.runCancellable { isCancelled in
                try SpoolFile(copying: input, to: directory, limit: limit, isCancelled: isCancelled)
            }
        }
    }
}

/// Determines the details of each file: from its manifest row, then the flags, then the file itself, then the settings.
/// A date from `--date-from-media` takes precedence over `--event-date`. With an event link, most details come from the
/// server.
struct DetailPlan: Sendable {
    let options: DetailOptions
    let settings: Settings
    let label: LabelTemplate?
    /// The default date: `YYYY-MM-DD`.
    let today: String
    /// Whether to use the recording date of the file.
    let isDateFromMedia: Bool
    let guest: GuestAccess?

    /// - Throws: `.invalidDetail`.
    func details(of input: UploadInput) throws(GigHiveError) -> UploadDetails {
        let given = { (name: String, flag: String?) in
            input.prefersFlags ? flag ?? input.fields[name] : input.fields[name] ?? flag
        }
        let date = guest?.event.eventDate ?? eventDate(of: input)
        if let guest {
            return try UploadDetails.validated(
                eventDate: date,
                orgName: guest.event.orgName,
                eventType: guest.event.eventType,
                label: try short(title(of: input, date: date))
            )
        }
        return try UploadDetails.validated(
            eventDate: date,
            orgName: given("org_name", options.orgName) ?? settings.orgName.value,
            eventType: given("event_type", options.eventType) ?? settings.eventType.value,
            label: title(of: input, date: date),
            participants: given("participants", options.participants),
            keywords: given("keywords", options.keywords),
            location: given("location", options.location),
            rating: given("rating", options.rating),
            notes: given("notes", options.notes)
        )
    }

    private func eventDate(of input: UploadInput) -> String {
        if input.prefersFlags, let date = options.eventDate {
            return date
        }
        return input.fields["event_date"] ?? recordingDate(of: input) ?? options.eventDate ?? today
    }

    /// The local day of the recording, if requested and present in the file. Unreadable files are reported elsewhere.
    private func recordingDate(of input: UploadInput) -> String? {
        guard isDateFromMedia, input.standardInputName == nil, let file = try? SourceFile(path: input.path) else {
            return nil
        }
        return MediaCreationTime.seconds(of: file).map { Formats.localDay(Date(timeIntervalSince1970: Double($0))) }
    }

    private func title(of input: UploadInput, date: String) -> String {
        let templated = label?.label(path: input.labelPath, eventDate: date, number: input.number)
        let own = input.fields["label"]
        return (input.prefersFlags ? templated ?? own : own ?? templated)
            ?? input.labelPath.fileName.nameParts.stem
    }

    /// The limit for a guest's label is in bytes (gighive contract section 6).
    private func short(_ label: String) throws(GigHiveError) -> String {
        guard label.utf8.count <= 255 else {
            throw GigHiveError(
                .invalidDetail,
                detail: "at most 255 bytes of UTF-8 are allowed with an event link",
                value: label,
                limit: 255
            ).with(\.field, "label")
        }
        return label
    }
}

extension UploadInput {
    /// The path for labels, `{stem}` and the like. Control characters, which labels must not contain, are replaced with
    /// spaces.
    fileprivate var labelPath: [UInt8] {
        let path = standardInputName.map { Array($0.utf8) } ?? path
        let text = String(decoding: path, as: UTF8.self)
        // Tests for category Cc, which never changes (The Unicode Standard, section 4.5), without using the Unicode
        // tables.
        let isControl = { (scalar: Unicode.Scalar) in scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value) }
        guard text.unicodeScalars.contains(where: isControl) else { return path }
        return text.unicodeScalars.flatMap { Array(String(isControl($0) ? " " : $0).utf8) }
    }
}
