/// Addresses that the capture server tells its clients.
struct CaptureLinks {
    /// Of the server as the client calls it.
    let host: String
    let basePath: String

    /// A page for everybody; here it is the page's data.
    func verification(of id: String) -> String { "http://\(host)\(basePath)/api/v1/verify/\(id)" }
}
