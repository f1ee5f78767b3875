internal import GigHive
internal import MediaFiles
internal import MediaStore
internal import Synchronization

extension UploadRun {
    /// Sends what appears in a directory and is complete, until a signal comes or the directory goes.
    ///
    /// - Parameters:
    ///   - directory: What is watched.
    ///   - filter: Which files are wanted.
    /// - Returns: How the program ends.
    /// - Throws: `Diagnosis` when the directory cannot be watched; otherwise as `run`.
    func watch(_ directory: [UInt8], filter: PathFilter) async throws -> ExitCode {
        let began = console.context.elapsed()
        let watch = try Self.watch(of: directory, filter: filter)
        let report = try begin(items: nil)
        console.note("watching \(ErrorCatalogue.quoted(directory)); Ctrl-C ends it")
        let ledger = UploadLedger(keepsLines: sending.report != nil)
        let teller = UploadTeller(
            console,
            contact: contact,
            fileCount: nil,
            namesServer: settings.flags.server != nil,
            continuation: request.continuation(console.context.arguments)
        )
        return await console.context.interruption.handling({ _ in }) {
            await send(watch, ledger, teller)
            return finish(ledger, teller, report, began: began)
        }
    }

    private static func watch(of directory: [UInt8], filter: PathFilter) throws(Diagnosis) -> DirectoryWatch {
        do {
            return try DirectoryWatch(directory, filter: filter)
        } catch {
            throw ErrorCatalogue.diagnosis(ofWatching: error)
        }
    }

    private func send(_ watch: DirectoryWatch, _ ledger: UploadLedger, _ teller: UploadTeller) async {
        let control = BatchControl()
        let display = ProgressDisplay(
            console,
            mode: DisplayMode(for: console),
            writesRecords: request.writesProgressRecords,
            fileCount: nil
        )
        let (arrivals, door) = AsyncStream<[UInt8]>.makeStream()
        let watching = Task {
            for await path in watch.files {
                door.yield(path)
            }
            door.finish()
        }
        let close = { @Sendable in
            watching.cancel()
            door.finish()
        }
        let broadcast = UploadBroadcast(
            console: console,
            display: display,
            ledger: ledger,
            teller: teller,
            tape: tape,
            isOpenEnded: true,
            drain: {
                // Nobody is told any more what is sent.
                control.drain()
                close()
            }
        )
        let onSignal = { @Sendable (request: Interruption.Request) in
            close()
            stop(control, display, request)
        }
        await console.context.interruption.handling(onSignal) {
            await broadcast.run { announce in
                await send(arrivals, again: { door.yield($0) }, ledger, control) { event, file in
                    announce(event, file)
                    if case .ended(_, let result) = event, result.error?.endsRun == true { close() }
                }
            }
        }
        watching.cancel()
    }

    /// Sends files as they come, as many at a time as there are jobs. One that is written again while it is being sent comes
    /// once more through `again`, when its sending has ended.
    private func send(
        _ arrivals: AsyncStream<[UInt8]>,
        again: @escaping @Sendable ([UInt8]) -> Void,
        _ ledger: UploadLedger,
        _ control: BatchControl,
        _ announce: @escaping UploadBroadcast.Announce
    ) async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            var number = 0
            let underWay = PathsUnderWay()
            for await path in arrivals {
                guard console.mayGoOn else { break }
                guard underWay.begin(path) else { continue }
                number += 1
                guard let entry = await entry(for: path, number: number) else {
                    if underWay.end(path) { again(path) }
                    continue
                }
                let index = ledger.add(entry)
                let file = UploadBroadcast.File(entry, uploader)
                // What the server had when the last file came may be gone by now.
                let batch = UploadBatch(uploader: anotherUploader(), options: .init())
                if running >= jobs {
                    await group.next()
                    running -= 1
                }
                running += 1
                group.addTask {
                    await batch.run([entry.item], control: control) { announce($0.at(index), file) }
                    if underWay.end(path) { again(path) }
                }
            }
        }
    }

    /// A file that appeared, checked; nil for one that is none of ours.
    private func entry(for path: [UInt8], number: Int) async -> UploadPlan.Entry? {
        let input = UploadInput(source: .file(path), origin: .found, number: number)
        if let shard = request.shard, !shard.shard.contains(path) {
            return nil
        }
        // Only standard input has more to throw, and no path is that here.
        guard let entry = try? await plan.entry(for: input) else { return nil }
        // Gone again, or no media: somebody else's business in that directory.
        switch entry.error?.code {
        case .unknownExtension, .fileNotFound:
            console.trace("left out \(ErrorCatalogue.quoted(path))")
            return nil
        default: return entry
        }
    }
}

/// Files that are being sent, and which of them have been written again meanwhile.
private final class PathsUnderWay: Sendable {
    private let isWrittenAgain = Mutex<[[UInt8]: Bool]>([:])

    /// - Returns: Whether it is to be sent now; false when it is being sent, and is noted to come once more.
    func begin(_ path: [UInt8]) -> Bool {
        isWrittenAgain.withLock { paths in
            let isUnderWay = paths[path] != nil
            paths[path] = isUnderWay
            return !isUnderWay
        }
    }

    /// - Returns: Whether it has been written again since `begin`.
    func end(_ path: [UInt8]) -> Bool {
        isWrittenAgain.withLock { $0.removeValue(forKey: path) ?? false }
    }
}
