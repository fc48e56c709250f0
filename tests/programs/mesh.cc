// SPDX-License-Identifier: BSD-3-Clause
/* mesh SIDE STEPS ITERATIONS: explicit steps of a mesh of SIDE * SIDE * SIDE hexahedra, in the style of hydrodynamics
   codes: all data behind accessors of one line, which compilers inline when they optimise, and hot loops over elements
   and nodes. ITERATIONS (30) of the equation of state in each element set the time between two calls. Prints sums, which
   depend neither on the compiler's level nor on tracing. With E elements: main 1 -> Domain::Domain 1; step STEPS ->
   forces 1, move 1, state 1, limit 1; forces -> element_force E; state -> element_state E; limit -> allowed_of E / 8,
   rounded up. All others may be inlined; g++ -O2 leaves these calls and one of volume_of from each of the first two. */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include "keep.h"

using Real = double;
using Index = int;

struct Vec {
    Real x, y, z;
    Vec operator+(const Vec &o) const { return {x + o.x, y + o.y, z + o.z}; }
    Vec operator-(const Vec &o) const { return {x - o.x, y - o.y, z - o.z}; }
    Vec operator*(Real f) const { return {x * f, y * f, z * f}; }
    Vec &operator+=(const Vec &o)
    {
        x += o.x, y += o.y, z += o.z;
        return *this;
    }
    Real dot(const Vec &o) const { return x * o.x + y * o.y + z * o.z; }
    Vec cross(const Vec &o) const { return {y * o.z - z * o.y, z * o.x - x * o.z, x * o.y - y * o.x}; }
};

template <typename T> T middle(T low, T value, T high) { return std::max(low, std::min(value, high)); }

static Index iterations;

class Domain
{
  public:
    KEEP explicit Domain(Index side);
    Index elements() const { return Index(m_e.size()); }
    Index nodes() const { return Index(m_position.size()); }
    const Index *corners(Index i) const { return &m_corners[8 * std::size_t(i)]; }
    Index corner(Index i, Index k) const { return corners(i)[k]; }
    Vec &position(Index n) { return m_position[std::size_t(n)]; }
    Vec &velocity(Index n) { return m_velocity[std::size_t(n)]; }
    Vec &force(Index n) { return m_force[std::size_t(n)]; }
    Real &mass(Index n) { return m_mass[std::size_t(n)]; }
    Real &e(Index i) { return m_e[std::size_t(i)]; }
    Real &p(Index i) { return m_p[std::size_t(i)]; }
    Real &v(Index i) { return m_v[std::size_t(i)]; }
    Real &v0(Index i) { return m_v0[std::size_t(i)]; }
    Real &dt() { return m_dt; }
    bool fixed(Index n) const { return m_fixed[std::size_t(n)]; }

  private:
    std::vector<Index> m_corners;
    std::vector<Vec> m_position, m_velocity, m_force;
    std::vector<Real> m_mass, m_e, m_p, m_v, m_v0;
    std::vector<char> m_fixed;
    Real m_dt = 1e-3;
};

static inline Real triple(const Vec &a, const Vec &b, const Vec &c) { return a.dot(b.cross(c)); }

static inline Real volume_of(const Vec c[8])
{
    Vec d[6] = {c[6] - c[1], c[6] - c[3], c[6] - c[4], c[7] - c[0], c[2] - c[0], c[5] - c[0]};
    return (triple(d[0] + d[3], d[1], d[4]) + triple(d[1] + d[5], d[2], d[3]) + triple(d[2] + d[4], d[0], d[5])) / 12;
}

Domain::Domain(Index side)
{
    Index row = side + 1;
    for (Index z = 0; z < row; z++)
        for (Index y = 0; y < row; y++)
            for (Index x = 0; x < row; x++) {
                m_position.push_back({x / Real(side), y / Real(side), z / Real(side)});
                m_fixed.push_back(x == 0 || y == 0 || z == 0);
            }
    m_velocity.resize(m_position.size());
    m_force.resize(m_position.size());
    m_mass.assign(m_position.size(), 1.0 / side / side / side);
    for (Index z = 0; z < side; z++)
        for (Index y = 0; y < side; y++)
            for (Index x = 0; x < side; x++) {
                Index n = x + row * (y + row * z), up = row * row;
                for (Index k : {n, n + 1, n + row + 1, n + row, n + up, n + up + 1, n + up + row + 1, n + up + row})
                    m_corners.push_back(k);
                m_e.push_back(x + y + z == 0 ? 10 : 0.01);
            }
    m_p.resize(m_e.size());
    m_v.assign(m_e.size(), 1);
    m_v0.assign(m_e.size(), std::abs(1.0 / side / side / side));
}

static inline void collect(Domain &d, Index i, Vec c[8])
{
    for (Index k = 0; k < 8; k++) c[k] = d.position(d.corner(i, k));
}

static inline void add_face(const Vec c[8], Vec f[8], Index a, Index b, Index g, Index h, Real pressure)
{
    Vec normal = ((c[g] - c[a]).cross(c[h] - c[b])) * (pressure / 8);
    for (Index k : {a, b, g, h}) f[k] += normal;
}

/* Forces against the four hourglass modes of a hexahedron. */
static inline void add_hourglass(Domain &d, Index i, const Vec c[8], Vec f[8], Real volume)
{
    static const Real modes[4][8] = {{1, 1, -1, -1, -1, -1, 1, 1},
                                     {1, -1, -1, 1, -1, 1, 1, -1},
                                     {1, -1, 1, -1, 1, -1, 1, -1},
                                     {-1, 1, -1, 1, 1, -1, 1, -1}};
    for (const Real *mode : modes) {
        Vec shape = {}, speed = {};
        for (Index k = 0; k < 8; k++) shape += c[k] * mode[k];
        for (Index k = 0; k < 8; k++) speed += d.velocity(d.corner(i, k)) * (mode[k] - volume * c[k].dot(shape));
        for (Index k = 0; k < 8; k++) f[k] += speed * (-1e-3 * mode[k] * std::cbrt(volume) * d.mass(d.corner(i, k)));
    }
}

static KEEP Real element_force(Domain &d, Index i)
{
    static const Index faces[6][4] = {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4},
                                      {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};
    Vec c[8], f[8] = {};
    collect(d, i, c);
    Real volume = std::abs(volume_of(c));
    for (const Index *face : faces) add_face(c, f, face[0], face[1], face[2], face[3], d.p(i));
    add_hourglass(d, i, c, f, volume);
    for (Index k = 0; k < 8; k++) d.force(d.corner(i, k)) += f[k];
    return volume;
}

static KEEP Real forces(Domain &d)
{
    Real total = 0;
    for (Index n = 0; n < d.nodes(); n++) d.force(n) = {};
    for (Index i = 0; i < d.elements(); i++) total += element_force(d, i);
    return total;
}

static KEEP void move(Domain &d)
{
    for (Index n = 0; n < d.nodes(); n++) {
        if (d.fixed(n)) continue;
        d.velocity(n) += d.force(n) * (d.dt() / d.mass(n));
        d.position(n) += d.velocity(n) * d.dt();
    }
}

static inline Real pressure_of(Real e, Real v)
{
    Real sound = std::sqrt(1e-9 + std::abs(e) / middle(0.1, v, 10.0));
    return middle(0.0, 2.0 / 3 * e / middle(0.1, v, 10.0) + 1e-6 * sound, 100.0);
}

static KEEP void element_state(Domain &d, Index i)
{
    Vec c[8];
    collect(d, i, c);
    Real v = std::abs(volume_of(c)) / d.v0(i), change = v - d.v(i), e = d.e(i);
    for (Index k = 0; k < iterations; k++) e = d.e(i) - 0.5 * (d.p(i) + pressure_of(e, v)) * change * d.v0(i);
    d.e(i) = middle(1e-9, e, 1e3);
    d.p(i) = pressure_of(d.e(i), v);
    d.v(i) = v;
}

static KEEP void state(Domain &d)
{
    for (Index i = 0; i < d.elements(); i++) element_state(d, i);
}

static KEEP Real allowed_of(Domain &d, Index i)
{
    Real length = std::cbrt(d.v(i) * d.v0(i)), sound = std::sqrt(1e-9 + d.p(i) * d.v(i));
    return 0.1 * length / sound;
}

static KEEP void limit(Domain &d)
{
    Real most = 1e-3;
    for (Index i = 0; i < d.elements(); i += 8) most = std::min(most, allowed_of(d, i));
    d.dt() = middle(1e-6, most, 1.1 * d.dt());
}

static KEEP Real step(Domain &d)
{
    Real total = forces(d);
    move(d);
    state(d);
    limit(d);
    return total;
}

int main(int argc, char **argv)
{
    Index side = argc > 1 ? std::atoi(argv[1]) : 10, steps = argc > 2 ? std::atoi(argv[2]) : 60;
    iterations = argc > 3 ? std::atoi(argv[3]) : 30;
    Domain d(side);
    Real total = 0, energy = 0;
    for (Index i = 0; i < steps; i++) total += step(d);
    for (Index i = 0; i < d.elements(); i++) energy += d.e(i);
    std::printf("%.9g %.9g\n", total, energy);
    return 0;
}
