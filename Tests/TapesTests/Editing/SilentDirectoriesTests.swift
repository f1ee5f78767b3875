import MediaStore
import Synchronization
import TestSupport
import Testing

@testable import Tapes

/// File systems that do not respond (rule R14).
@Suite struct SilentDirectoriesTests {
    private static let files = ["/away/1.mov", "/away/2.mov", "/gone/a.jpg", "/here/b.jpg"].map { Array($0.utf8) }
    private static let silent = Set(["/away", "/gone"].map { Array($0.utf8) })

    @Test("all directories share one time limit, and are reported during the wait")
    func oneLimit() async throws {
        let (gate, named) = (Gate(), Gate())
        let checked = Mutex<[[UInt8]]>([])
        let waiting = Mutex<[[UInt8]]>([])
        let found = try await SilentDirectories(
            of: Self.files,
            limit: .milliseconds(500),
            noticeTime: .milliseconds(1),
            onWait: { paths in
                waiting.withLock { $0 = paths }
                named.open()
            },
            check: { path in
                checked.withLock { $0.append(path) }
                if !path.starts(with: "/here".utf8) { gate.wait() }
            }
        )
        #expect(found.paths == Self.silent)
        #expect(found.contains(Self.files[1]) && !found.contains(Self.files[3]))
        #expect(checked.withLock { $0.count } == 3, "one file of each directory")
        #expect(await named.opened())
        #expect(Self.silent.isSubset(of: waiting.withLock { Set($0) }))
        for _ in 1...2 { gate.open() }
    }

    @Test("when no time is left, a directory is not checked and counts as silent") func noTime() async throws {
        let found = try await SilentDirectories(of: Self.files, limit: .zero, check: { _ in Issue.record("checked") })
        #expect(found.paths.count == 3)
        #expect(SilentDirectories().paths.isEmpty)
    }

    @Test func cancelingDoesNotWaitForAFileSystem() async throws {
        let (started, gate) = (Gate(), Gate())
        let task = Task {
            try await SilentDirectories(
                of: [Self.files[0]],
                limit: .seconds(600),
                check: { _ in
                    started.open()
                    gate.wait()
                }
            )
        }
        #expect(await started.opened())
        task.cancel()
        let error = await #expect(throws: TapesError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        gate.open()
    }

    @Test("files in silent directories are neither missing nor read") func skipped() async throws {
        let silent = try await SilentDirectories(of: [Self.files[0]], limit: .zero)
        #expect(try await OriginalReading.missing(among: Self.files, except: silent) == Set(Self.files.suffix(2)))
        let bench = try EditingBench()
        let path = try bench.write(EditingBench.movie, "a.mov")
        var clip = ClipRecord(id: "", tapeID: "", kind: .video, source: path)
        clip.durationMilliseconds = 3000
        let all = try await SilentDirectories(of: [path], limit: .zero)
        #expect(try await bench.editor.current([clip], except: all).map(\.durationMilliseconds) == [3000])
    }
}
