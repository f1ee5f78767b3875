internal import Foundation
internal import GigHive
internal import MediaStore
internal import MediaTransport

/// Imports the tokens of the upload page. Checksums and details come from the server, because the page has neither.
struct WebImportRun: Sendable {
    let console: Console
    let client: GigHiveClient
    let store: TokenStore
    let isDryRun: Bool

    /// Queries the server for each file, and stores the tokens of those that it has.
    ///
    /// - Throws: `Diagnosis` for text that cannot be a token; `GigHiveError`, `StoreError`.
    func run(_ web: WebTokens) async throws -> ExitCode {
        let tokens = try web.tokens.map { fileID, text throws(Diagnosis) in
            guard let token = DeleteToken(text) else {
                throw Diagnosis(
                    "invalid_import",
                    "the entry of \(fileID) is not a delete token",
                    hint: "nothing was imported",
                    exitCode: .usage
                )
            }
            return (fileID: fileID, token: token)
        }
        let now = console.context.now()
        var entries: [TokenEntry] = []
        var stored: [StoredFile] = []
        var missing: [Int64] = []
        let events = try await events()
        for (fileID, token) in tokens {
            guard let asset = try await client.asset(fileID) else {
                missing.append(fileID)
                continue
            }
            let listed = events[fileID] ?? []
            entries.append(entry(asset, token, listed.first, now))
            stored += listed.map { file(asset, $0) }
        }
        for fileID in missing {
            console.warning(
                "\(fileID) is not on \(ErrorCatalogue.clean(client.server.scope)); its token was not imported"
            )
        }
        let tally = ImportTally(try store.add(entries, isDryRun: isDryRun, stored: stored), missing: missing.count)
        console.text([tally.text(isDryRun: isDryRun)])
        let code: ExitCode = missing.isEmpty ? .success : entries.isEmpty ? .notFound : .partly
        console.summary(tally.members(isDryRun: isDryRun, code))
        return code
    }

    /// The events of all files by ID. Without the listing, the tokens are imported without events.
    private func events() async throws -> [Int64: [ListingPage.Entry]] {
        var entries: [ListingPage.Entry] = []
        do throws(GigHiveError) {
            var page = try await client.listing()
            entries = page.entries
            while page.page < page.pageCount {
                let next = try await client.listing(page: page.page + 1)
                guard next.page > page.page else { break }
                page = next
                entries += page.entries
            }
        } catch {
            let reason = ErrorCatalogue.diagnosis(of: error).message
            console.warning("cannot read the server's listing; date and organization are not imported: \(reason)")
        }
        return Dictionary(grouping: entries.filter { $0.fileID != nil }) { $0.fileID ?? 0 }
    }

    private func entry(_ asset: Asset, _ token: DeleteToken, _ event: ListingPage.Entry?, _ now: Date) -> TokenEntry {
        TokenEntry(
            host: client.server.scope,
            fileID: asset.fileID,
            token: token,
            createdAt: now,
            eventDate: event?.date ?? "",
            orgName: event?.orgName ?? "",
            eventType: "",
            label: event?.title,
            fileName: asset.fileName ?? "",
            fileType: asset.fileType ?? event?.fileType ?? "",
            checksumSHA256: asset.checksumSHA256 ?? "",
            sizeBytes: asset.sizeBytes ?? 0,
            baseURL: client.server.description
        )
    }

    private func file(_ asset: Asset, _ event: ListingPage.Entry) -> StoredFile {
        var facts = StoredFacts()
        facts.eventDate = event.date
        facts.orgName = event.orgName
        facts.label = event.title
        facts.mimeType = asset.mimeType
        facts.durationSeconds = asset.durationSeconds
        return StoredFile(
            host: client.server.scope,
            fileID: asset.fileID,
            checksumSHA256: asset.checksumSHA256 ?? "",
            facts: facts
        )
    }
}
